import { Readable } from 'node:stream'
import { DiskFullError, encodeMetadata, readTicks, type SimulationMetadata } from '@tidemark/pipeline'
import { ClosedError } from 'tidemark'
import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { BadRequestError, BodyTimeoutError, BodyTooLargeError, IngestPausedError, NotServedError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import type { IngestTarget } from '../options.ts'
import { API, type Route, route } from '../route.ts'
import { Count, nullable, strict } from '../schemas/common.ts'
import { MetadataSchema } from '../schemas/runs.ts'
import { untilGone } from '../until-gone.ts'

const tag = 'pipeline'
/** Delimited messages have no registered type; both names are in use. */
const TICKS_TYPES = ['application/x-protobuf', 'application/octet-stream']

export const ingestRoutes = (context: Context): Route[] => [
  route({
    method: 'POST',
    path: `${API}/ingest`,
    tag,
    name: 'ingest',
    role: 'publish',
    summary: 'Send delimited TickData to the pipeline',
    says:
      'Each tick is a TickData prefixed with its length (a varint). Ticks are accepted as they arrive, at the speed ' +
      'of the pipeline. An error names the position in the body; the ticks before it were accepted. When the request ' +
      "succeeds, the ticks are in the pipeline's memory and are written to disk with the next batch. Sending them " +
      "again is safe. A tick that can't be decoded, belongs to another run than the first one (or than the run of " +
      'this server), or has a cell beyond the world of its metadata is refused with 400 and not stored. While the ' +
      'pipeline waits for free disk space, the response is 507 with the number of accepted ticks; send the rest ' +
      'again later.',
    streamedBody: TICKS_TYPES,
    answers: {
      202: {
        says: 'All ticks were accepted',
        content: strict({ ticks: Count, bytes: Count, lastTick: nullable(Type.Integer()) }),
      },
    },
    problems: [507],
    async handle({ request, reply }) {
      const { ticks, runId } = target(context)
      const { limits } = context.settings
      using gone = untilGone(request, context.closing.signal)
      let count = 0
      let bytes = 0
      let lastTick: number | null = null
      const body = watched(bodyOf(request.body), limits, gone.signal)
      const metadataOf = (ofRun: string) => context.ingestedRuns.metadataOf(ofRun)
      for await (const tick of readTicks('The body', body, { runId, metadataOf })) {
        const { length } = tick.bytes
        try {
          await ticks.put(tick, { signal: gone.signal })
        } catch (error) {
          if (error instanceof DiskFullError) throw new IngestPausedError(count, lastTick, error)
          throw error
        }
        lastTick = tick.tick
        count++
        bytes += length
      }
      return reply.code(202).send({ ticks: count, bytes, lastTick })
    },
  }),

  route({
    method: 'POST',
    path: `${API}/ingest/metadata`,
    tag,
    name: 'ingestMetadata',
    role: 'publish',
    summary: "Send a run's metadata to the pipeline, preferably before its first tick",
    body: MetadataSchema,
    answers: { 202: { says: 'The metadata was accepted', content: strict({ runId: Type.String() }) } },
    async handle({ body, request, reply }) {
      const { metadata, runId } = target(context)
      if (metadata === undefined) throw new NotServedError('a place for metadata', 'ingest.metadata')
      if (runId !== undefined && body.runId !== runId) {
        throw new BadRequestError(`The metadata belongs to run ${body.runId}, but this server accepts run ${runId}`)
      }
      using gone = untilGone(request, context.closing.signal)
      const bytes = encodeMetadata(body as SimulationMetadata)
      await metadata.put({ runId: body.runId, bytes }, { signal: gone.signal })
      context.ingestedRuns.note(body as SimulationMetadata)
      return reply.code(202).send({ runId: body.runId })
    },
  }),
]

/** If nothing is sent, nothing is parsed either. */
function bodyOf(body: unknown): Readable {
  if (body instanceof Readable) return body
  throw new BadRequestError(`The request has no body. Send delimited ticks as ${TICKS_TYPES.join(' or ')}`)
}

function target({ settings }: Context): IngestTarget {
  if (settings.ingest === undefined) throw new NotServedError('a place for ticks', 'ingest')
  return settings.ingest
}

/**
 * The bytes of the body, up to the limit. Silence ends it; a slow pipeline does not. However it ends, the socket stays
 * open for the answer: destroying the body would destroy the socket too.
 */
async function* watched(
  body: Readable,
  { ingestBytes, bodyTimeoutMs }: Pick<Limits, 'ingestBytes' | 'bodyTimeoutMs'>,
  gone: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks = body.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]()
  for (let bytes = 0; ; ) {
    const { done, value } = await within(chunks.next(), bodyTimeoutMs, gone)
    if (done) return
    bytes += value.length
    if (bytes > ingestBytes) throw new BodyTooLargeError(ingestBytes)
    yield value
  }
}

async function within<T>(next: Promise<T>, ms: number, gone: AbortSignal): Promise<T> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>()
  const end = (): void => reject(new ClosedError('The server'))
  const timer = setTimeout(() => reject(new BodyTimeoutError(ms)), ms)
  gone.addEventListener('abort', end, { once: true })
  if (gone.aborted) end()
  // Ignored if it arrives when nobody waits any more.
  next.catch(() => undefined)
  try {
    return await Promise.race([next, interrupted])
  } finally {
    clearTimeout(timer)
    gone.removeEventListener('abort', end)
  }
}
