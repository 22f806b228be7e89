import { readTile } from '@tidemark/pipeline'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { chooseEncoding } from '../answers/encoded.ts'
import type { Context } from '../context.ts'
import { TickNotFoundError, TooManyFramesError } from '../errors.ts'
import { requireOrder } from '../inputs.ts'
import { toProblem } from '../problems/problem.ts'
import { type Route, route } from '../route.ts'
import { FrameRecords, KEY_EVERY } from '../runs/frame-records.ts'
import { type FrameRange, frameSteps } from '../runs/frame-ticks.ts'
import { ELEMENTS, planOf, TileQuery, tileHeaders } from '../runs/tile-request.ts'
import { strict } from '../schemas/common.ts'
import { RunParams, Tick } from '../schemas/runs.ts'
import { ByteStream } from '../streams/byte-stream.ts'
import { untilGone } from '../until-gone.ts'
import { RUN } from './runs.ts'

/** Frames in memory for one reader: the previous one, those being made, and those not sent yet. */
const FRAMES_HELD = 5

export const frameRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${RUN}/frames`,
    tag: 'runs',
    name: 'frames',
    role: 'read',
    summary: 'Stream ticks as pixels, each as the difference to the one before',
    says:
      'A record is a varint length of the rest, a varint tick, a byte for its kind, and bytes. 0: a whole frame, as a ' +
      `tile; every ${KEY_EVERY}th is one. 1: the frame XOR the one before, byte by byte. 2: the ticks from this one to the varint ` +
      'in the bytes are missing. 3: the end; continue at this tick. 4: a problem (JSON), which ends the stream. Frames ' +
      'are made as fast as they are read.',
    params: RunParams,
    query: strict({
      from: Tick,
      to: Type.Optional(Tick),
      every: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000_000,
          default: 1,
          description: 'Ticks from a frame to the next.',
        }),
      ),
      ...TileQuery,
    }),
    answers: { 200: { says: 'Stream of records', content: { [FRAMES_TYPE]: Type.String({ format: 'binary' }) } } },
    problems: [413, 503],
    raw: true,
    async handle({ params: { runId }, query: { from, to, every = 1, ...tile }, request, reply }) {
      requireOrder({ from, to })
      const { limits } = context.settings
      const { plan, range } = await context.runs.use(runId, async run => {
        const { plan, metadata } = await planOf(run, tile, limits)
        const { environment } = run.index
        const indexed = await environment.range()
        if (indexed === null || indexed.tickEnd < from) {
          throw new TickNotFoundError(from, await environment.nearest(from))
        }
        const { tickStart } = indexed
        return { plan, range: rangeOf({ from, to, every }, metadata.samplingInterval, tickStart, limits.frames) }
      })
      const bytes = plan.x.pixels * plan.y.pixels * (ELEMENTS[plan.plane] === 'u8' ? 1 : 4)
      using _held = context.largeAnswers.hold(bytes * FRAMES_HELD)
      await stream(context, request, reply, tileHeaders(plan), async (out, gone) => {
        const records = new FrameRecords()
        const steps = frameSteps(range, {
          // Not kept open while the reader is slow: the run may be removed meanwhile.
          read: tick => context.runs.use(runId, ({ index }) => readTile(index, tick, plan, context.tileMakers)),
          nearest: tick => context.runs.use(runId, ({ index }) => index.environment.nearest(tick)),
          ahead: context.tileMakers.parallel,
        })
        let tick = range.from
        try {
          for await (const step of steps) {
            tick = step.tick
            await out.write(records.of(step))
            if (gone.aborted) return
          }
        } catch (error) {
          // The status has been sent already, so the stream itself reports what happened.
          context.settings.logger.debug({ err: error, runId, tick }, 'frames could not be read')
          await out.write(records.problem(tick, toProblem(error)))
        }
      })
    },
  }),
]

const FRAMES_TYPE = 'application/octet-stream'

type Asked = { readonly from: number; readonly to: number | undefined; readonly every: number }

/** On the sampling grid, from the first tick at or after `from`. */
function rangeOf({ from, to, every }: Asked, interval: number, tickStart: number, most: number): FrameRange {
  const first = from + ((((tickStart - from) % interval) + interval) % interval)
  const step = Math.ceil(every / interval) * interval
  if (to !== undefined) {
    const frames = Math.floor(Math.max(0, to - first) / step) + 1
    if (frames > most) throw new TooManyFramesError(frames, most)
  }
  return { from: first, to: to ?? Number.MAX_SAFE_INTEGER, step, interval, most }
}

async function stream(
  { streams, closing }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  headers: Record<string, string>,
  feed: (out: ByteStream, gone: AbortSignal) => Promise<void>,
): Promise<void> {
  const leave = streams.take()
  using gone = untilGone(request, closing.signal)
  reply.hijack()
  const encoding = chooseEncoding(request.headers['accept-encoding'])
  const all = {
    ...reply.getHeaders(),
    ...headers,
    'content-type': FRAMES_TYPE,
    'cache-control': 'no-store',
    vary: 'accept-encoding',
    ...(encoding !== undefined && { 'content-encoding': encoding }),
  }
  reply.raw.writeHead(200, all as Record<string, string>)
  const out = new ByteStream(reply.raw, encoding, gone.signal)
  try {
    await feed(out, gone.signal)
  } finally {
    leave()
    out.end()
  }
}
