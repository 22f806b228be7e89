import { type Cells, encodeCells, type Region } from '@tidemark/pipeline'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { accepts, takesEncoding } from '../accepts.ts'
import type { Context } from '../context.ts'
import { AnswerTooLargeError, NotFoundError } from '../errors.ts'
import { mapped } from '../inputs.ts'
import { AS_YOU_HAVE_IT, JSON_TYPE, type Route, route } from '../route.ts'
import type { OpenRun } from '../runs/run-indexes.ts'
import { isKnown } from '../runs/tick-cache.ts'
import { nullable, strict } from '../schemas/common.ts'
import { CellParams, CellSchema, CellsSchema, RegionGiven, RunParams, Tick, TickParams } from '../schemas/runs.ts'
import { Timing } from '../timing.ts'
import { RUN } from './runs.ts'

const tag = 'runs'
export const CELLS_TYPE = 'application/x-protobuf'

export const environmentRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${RUN}/environment/:tick`,
    tag,
    name: 'environment',
    role: 'read',
    summary: 'Get the cells of a tick or of a region of it',
    says:
      'Returns a CellStateList (protobuf), or columns with Accept: application/json. An indexed tick never changes, ' +
      'so the answer can be cached forever.',
    params: TickParams,
    query: strict({ region: Type.Optional(RegionGiven) }),
    answers: {
      200: {
        says: 'The cells',
        content: { [CELLS_TYPE]: Type.String({ format: 'binary' }), [JSON_TYPE]: CellsSchema },
      },
      304: AS_YOU_HAVE_IT,
    },
    problems: [406, 422],
    async handle({ params: { runId, tick }, query, request, reply }) {
      const type = accepts(request.headers.accept, [CELLS_TYPE, JSON_TYPE])
      const region = mapped(query.region, regionOf)
      const timing = new Timing()
      return await context.runs.use(runId, async run => {
        const isCurrent = () => isKnown(run, { index: 'environment', tick, form: type }, request, reply)
        if (type === JSON_TYPE) {
          const cells = required(await run.index.environment.cells(tick, region), tick)
          timing.mark('read')
          const columns = columnsOf(cells, context)
          if (await isCurrent()) return reply.code(304).send()
          const text = JSON.stringify(columns)
          timing.mark('encode')
          return timed(reply, timing).header('content-type', JSON_TYPE).send(text)
        }
        const { bytes, encoding } = await bytesOf(run, tick, region, request.headers['accept-encoding'])
        timing.mark('read')
        if (await isCurrent()) return reply.code(304).send()
        if (encoding !== undefined) reply.header('content-encoding', encoding)
        return timed(reply, timing).header('content-type', CELLS_TYPE).send(bytes)
      })
    },
  }),

  route({
    method: 'GET',
    path: `${RUN}/environment/:tick/cells/:coordinates`,
    tag,
    name: 'cell',
    role: 'read',
    summary: 'Get a cell of a tick',
    params: CellParams,
    answers: {
      200: { says: 'The cell; null if it is empty', content: strict({ cell: nullable(CellSchema) }) },
      304: AS_YOU_HAVE_IT,
    },
    async handle({ params: { runId, tick, coordinates }, request, reply }) {
      return await context.runs.use(runId, async run => {
        const asked = { index: 'environment', tick, form: 'cell' } as const
        const cell = required(await run.index.environment.cell(tick, numbersOf(coordinates)), tick) ?? null
        return (await isKnown(run, asked, request, reply)) ? reply.code(304).send() : { cell }
      })
    },
  }),

  route({
    method: 'GET',
    path: `${RUN}/difference`,
    tag,
    name: 'difference',
    role: 'read',
    summary: 'Get the difference between two ticks, forward or backward',
    params: RunParams,
    query: strict({ from: Tick, to: Tick }),
    answers: {
      200: {
        says: 'New, changed and emptied cells',
        content: strict({ set: CellsSchema, emptied: Type.Array(Type.Integer()) }),
      },
      304: AS_YOU_HAVE_IT,
    },
    problems: [422],
    async handle({ params: { runId }, query: { from, to }, request, reply }) {
      return await context.runs.use(runId, async run => {
        const asked = { index: 'environment', tick: Math.max(from, to), form: 'difference' } as const
        const difference = await run.index.environment.difference(from, to)
        if (difference === null) throw new NotFoundError(`Tick ${from} or tick ${to} is not indexed`)
        const set = columnsOf(difference.set, context)
        if (await isKnown(run, asked, request, reply)) return reply.code(304).send()
        return { set, emptied: [...difference.emptied] }
      })
    },
  }),
]

/** Whole ticks go out as they were stored: nothing is decoded, and nothing decompressed for a client that can do it. */
async function bytesOf(
  { index: { environment } }: OpenRun,
  tick: number,
  region: Region | undefined,
  acceptEncoding: string | undefined,
): Promise<{ readonly bytes: Uint8Array; readonly encoding?: string }> {
  if (region !== undefined) return { bytes: encodeCells(required(await environment.cells(tick, region), tick)) }
  if (!takesEncoding(acceptEncoding, 'zstd')) return { bytes: required(await environment.bytes(tick), tick) }
  const { bytes, compression } = required(await environment.packed(tick), tick)
  return compression === 'none' ? { bytes } : { bytes, encoding: compression }
}

function required<T>(found: T | null, tick: number): T {
  if (found === null) throw new NotFoundError(`Tick ${tick} is not indexed`)
  return found
}

function columnsOf({ flatIndex, moleculeType, moleculeValue, ownerId }: Cells, { settings }: Context): object {
  const most = settings.limits.jsonCells
  if (flatIndex.length > most) {
    throw new AnswerTooLargeError('cells', flatIndex.length, most, 'Ask for a region, or for application/x-protobuf')
  }
  const columns = { flatIndex, moleculeType, moleculeValue, ownerId }
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, Array.from(column)]))
}

const numbersOf = (coordinates: string): number[] => coordinates.split(',').map(Number)

function regionOf(text: string): Region {
  const [from = '', to = ''] = text.split(':')
  return { from: numbersOf(from), to: numbersOf(to) }
}

const timed = (reply: FastifyReply, timing: Timing): FastifyReply => reply.header('server-timing', timing.header())
