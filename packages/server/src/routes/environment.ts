import { encodeCells, type Region } from '@tidemark/pipeline'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { accepts, takesEncoding } from '../accepts.ts'
import { type CellBounds, encodeColumns, encodeDifference } from '../answers/cell-columns.ts'
import { sendJson } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { BadRequestError, NotFoundError } from '../errors.ts'
import { mapped } from '../inputs.ts'
import { AS_YOU_HAVE_IT, JSON_TYPE, type Route, route } from '../route.ts'
import { isNotModified } from '../runs/etag.ts'
import type { OpenRun } from '../runs/run-indexes.ts'
import { nullable, strict } from '../schemas/common.ts'
import {
  CellParams,
  CellSchema,
  CellsPageSchema,
  CellsSchema,
  NextCells,
  RegionGiven,
  RunParams,
  Tick,
  TickParams,
} from '../schemas/runs.ts'
import { Timing } from '../timing.ts'
import { RUN } from './runs.ts'

const tag = 'runs'
const CELLS_TYPE = 'application/x-protobuf'

const AfterCell = Type.Integer({ minimum: 0, description: "JSON only: value of 'next' of the previous page." })

export const environmentRoutes = (context: Context): Route[] =>
  routes(context, after => {
    const { answerBytes, jsonCells } = context.settings.limits
    return { after: after ?? -1, maxCells: jsonCells, maxBytes: answerBytes }
  })

const routes = (context: Context, boundsOf: (after: number | undefined) => CellBounds): Route[] => [
  route({
    method: 'GET',
    path: `${RUN}/environment/:tick`,
    tag,
    name: 'environment',
    role: 'read',
    summary: 'Get the cells of a tick or of a region of it',
    says:
      'Returns a CellStateList (protobuf), or columns with Accept: application/json. An indexed tick never changes, ' +
      'so the answer can be cached forever. JSON comes in pages of at most 16 MiB (limits.answerBytes), protobuf whole.',
    params: TickParams,
    query: strict({ region: Type.Optional(RegionGiven), after: Type.Optional(AfterCell) }),
    answers: {
      200: {
        says: 'The cells',
        content: { [CELLS_TYPE]: Type.String({ format: 'binary' }), [JSON_TYPE]: CellsPageSchema },
      },
      304: AS_YOU_HAVE_IT,
    },
    problems: [406],
    async handle({ params: { runId, tick }, query, request, reply }) {
      const type = accepts(request.headers.accept, [CELLS_TYPE, JSON_TYPE])
      const region = mapped(query.region, regionOf)
      const timing = new Timing()
      return await context.runs.use(runId, async run => {
        const isCurrent = () => isNotModified(run, { index: 'environment', tick, form: type }, request, reply)
        if (type === JSON_TYPE) {
          const cells = required(await run.index.environment.cells(tick, region), tick)
          timing.mark('read')
          if (await isCurrent()) return reply.code(304).send()
          const { text, next } = await encodeColumns(cells, boundsOf(query.after))
          timing.mark('encode')
          return sendJson(timed(reply, timing), Buffer.from(`{${text},"next":${next}}`))
        }
        if (query.after !== undefined)
          throw new BadRequestError("'after' applies to JSON pages only: a protobuf response is not paged")
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
        return (await isNotModified(run, asked, request, reply)) ? reply.code(304).send() : { cell }
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
    query: strict({ from: Tick, to: Tick, after: Type.Optional(AfterCell) }),
    answers: {
      200: {
        says: 'New, changed and emptied cells',
        content: strict({ set: CellsSchema, emptied: Type.Array(Type.Integer()), next: NextCells }),
      },
      304: AS_YOU_HAVE_IT,
    },
    async handle({ params: { runId }, query: { from, to, after }, request, reply }) {
      return await context.runs.use(runId, async run => {
        const asked = { index: 'environment', tick: Math.max(from, to), form: 'difference' } as const
        const difference = await run.index.environment.difference(from, to)
        if (difference === null) throw new NotFoundError(`Tick ${from} or tick ${to} is not indexed`)
        if (await isNotModified(run, asked, request, reply)) return reply.code(304).send()
        return sendJson(reply, Buffer.from(await encodeDifference(difference, boundsOf(after))))
      })
    },
  }),
]

/** Whole ticks are sent as stored: nothing is decoded, and nothing is decompressed for a client that can do it. */
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

const numbersOf = (coordinates: string): number[] => coordinates.split(',').map(Number)

function regionOf(text: string): Region {
  const [from = '', to = ''] = text.split(':')
  return { from: numbersOf(from), to: numbersOf(to) }
}

const timed = (reply: FastifyReply, timing: Timing): FastifyReply => reply.header('server-timing', timing.header())
