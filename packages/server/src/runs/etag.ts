import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OpenRun } from './run-indexes.ts'

type Index = 'environment' | 'organisms'

type Asked = {
  /** Indexes that the answer is built from. */
  readonly index: Index | readonly Index[]
  /** The last tick that the answer contains. */
  readonly tick: number
  /** The form of the answer; its address contains everything else. */
  readonly form: string
}

const VARY = 'accept, accept-encoding'

/**
 * For an existing answer: below the indexed end nothing changes any more, so it can be cached for ever. True if the
 * client has it, and 304 is to be sent. Never called before the answer is known to exist: a tick in a gap has none, but
 * may still arrive.
 */
export async function isNotModified(
  run: OpenRun,
  { index, tick, form }: Asked,
  { headers, url }: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const { knownEnd } = run
  const indexes = [index].flat() as Index[]
  for (const each of indexes) {
    if (tick >= knownEnd[each]) knownEnd[each] = (await run.index[each].range())?.tickEnd ?? -1
  }
  if (indexes.some(each => tick >= knownEnd[each])) {
    reply.headers({ 'cache-control': 'no-cache', vary: VARY })
    return false
  }
  // Weak, because an answer may be compressed in different ways.
  const etag = `W/"${form} ${url.replaceAll('"', '')}"`
  reply.headers({ etag, 'cache-control': 'private, max-age=31536000, immutable', vary: VARY })
  return headers['if-none-match'] === etag
}
