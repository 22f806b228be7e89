import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenRun } from './run-indexes.ts'

type Asked = {
  readonly index: 'environment' | 'organisms'
  /** The last tick that the answer is made of. */
  readonly tick: number
  /** Which form of the answer; what else makes it is in its address. */
  readonly form: string
}

const VARY = 'accept, accept-encoding'

/**
 * Of an answer that was found: below the end of what is indexed nothing changes any more, so it may be kept for good. True where
 * the client has it, and is to be told so. Never before the answer is known to exist: a tick in a gap has none, and may yet come.
 */
export async function isNotModified(
  run: OpenRun,
  { index, tick, form }: Asked,
  { headers, url }: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const { knownEnd } = run
  if (tick >= knownEnd[index]) knownEnd[index] = (await run.index[index].range())?.tickEnd ?? -1
  if (tick >= knownEnd[index]) {
    reply.headers({ 'cache-control': 'no-cache', vary: VARY })
    return false
  }
  // Weak, since an answer may go out compressed in one way or another.
  const etag = `W/"${form} ${url.replaceAll('"', '')}"`
  reply.headers({ etag, 'cache-control': 'private, max-age=31536000, immutable', vary: VARY })
  return headers['if-none-match'] === etag
}
