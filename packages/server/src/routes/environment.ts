import { encodeCells, type Region } from '@tidemark/pipeline'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { accepts, takesEncoding } from '../accepts.ts'
import { type CellBounds, encodeColumns, encodeDifference } from '../answers/cell-columns.ts'
import { sendBytes } from '../answers/encoded.ts'
import { sendJson } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { BadRequestError } from '../errors.ts'
import { mapped } from '../inputs.ts'
import { AS_YOU_HAVE_IT, JSON_TYPE, type Route, route } from '../route.ts'
import { isNotModified } from '../runs/etag.ts'
import { foundTick } from '../runs/missing-tick.ts'
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
          const cells = await foundTick(run, tick, await run.index.environment.cells(tick, region))
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
        timed(reply, timing).header('content-type', CELLS_TYPE)
        if (encoding !== undefined) return reply.header('content-encoding', encoding).send(bytes)
        return await sendBytes(reply, bytes, request.headers['accept-encoding'])
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
        const found = await run.index.environment.cell(tick, numbersOf(coordinates))
        const cell = (await foundTick(run, tick, found)) ?? null
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
        if (difference === null) {
          const isFirst = (await run.index.environment.stored(from)) === null
          return await foundTick(run, isFirst ? from : to, null)
        }
        if (await isNotModified(run, asked, request, reply)) return reply.code(304).send()
        return sendJson(reply, Buffer.from(await encodeDifference(difference, boundsOf(after))))
      })
    },
  }),
]

/**
 * Whole ticks are sent as stored: nothing is decoded, and nothing is decompressed for a client that accepts zstd. For
 * other clients they are recompressed.
 */
async function bytesOf(
  run: OpenRun,
  tick: number,
  region: Region | undefined,
  acceptEncoding: string | undefined,
): Promise<{ readonly bytes: Uint8Array; readonly encoding?: string }> {
  const { environment } = run.index
  if (region !== undefined)
    return { bytes: encodeCells(await foundTick(run, tick, await environment.cells(tick, region))) }
  if (!takesEncoding(acceptEncoding, 'zstd'))
    return { bytes: await foundTick(run, tick, await environment.bytes(tick)) }
  const { bytes, compression } = await foundTick(run, tick, await environment.packed(tick))
  return compression === 'none' ? { bytes } : { bytes, encoding: compression }
}

const numbersOf = (coordinates: string): number[] => coordinates.split(',').map(Number)

function regionOf(text: string): Region {
  const [from = '', to = ''] = text.split(':')
  return { from: numbersOf(from), to: numbersOf(to) }
}

const timed = (reply: FastifyReply, timing: Timing): FastifyReply => reply.header('server-timing', timing.header())
