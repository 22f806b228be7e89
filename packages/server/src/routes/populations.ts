import { encodeOrganisms, type Organism, regionFilter } from '@tidemark/pipeline'
import { Type } from 'typebox'
import { accepts } from '../accepts.ts'
import { sendBytes } from '../answers/encoded.ts'
import { sendJson } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { AS_YOU_HAVE_IT, JSON_TYPE, type Route, route } from '../route.ts'
import { isNotModified } from '../runs/etag.ts'
import { foundTick } from '../runs/missing-tick.ts'
import type { OpenRun } from '../runs/run-indexes.ts'
import { type OrganismOrder, type SelectedOrganisms, selectOrganisms } from '../runs/select-organisms.ts'
import { isWrapped, regionOf, TileQuery } from '../runs/tile-request.ts'
import { strict } from '../schemas/common.ts'
import {
  LineagesSchema,
  MOST_LINEAGES,
  MOST_ORGANISMS,
  OrganismColumnsSchema,
  RunParams,
  Tick,
} from '../schemas/runs.ts'
import { RUN } from './runs.ts'

const tag = 'runs'
const ORGANISMS_TYPE = 'application/x-protobuf'
/** Bytes of an organism in columns, in a world of 16 dimensions. */
const COLUMN_BYTES = 300
const ChosenTick = Type.Optional(Type.Integer({ ...Tick, description: 'Default: the last indexed tick.' }))

/** The organisms of a tick, and the lineages that they belong to. */
export const populationRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${RUN}/organisms`,
    tag,
    name: 'organisms',
    role: 'read',
    summary: 'List organisms of a tick by region and lineage, as columns',
    says:
      'Returns columns (JSON) or, with Accept: application/x-protobuf, OrganismState messages, each with its length as a ' +
      'varint before it; Tidemark-Total and Tidemark-Next are then headers. Genomes are in the protobuf answer only.',
    params: RunParams,
    query: strict({
      tick: ChosenTick,
      region: TileQuery.region,
      wrap: TileQuery.wrap,
      lineage: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      sort: Type.Optional(
        Type.Enum(['id', 'energy'], { default: 'id', description: 'By id, or by energy, the most first.' }),
      ),
      after: Type.Optional(
        Type.String({
          pattern: '^[-+.\\dA-Za-z]{1,40}(/\\d{1,16})?$',
          description: "Value of 'next' of the previous page.",
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_ORGANISMS, default: 1_000 })),
    }),
    answers: {
      200: {
        says: 'A page',
        content: { [JSON_TYPE]: OrganismColumnsSchema, [ORGANISMS_TYPE]: Type.String({ format: 'binary' }) },
      },
      304: AS_YOU_HAVE_IT,
    },
    problems: [406],
    large: true,
    async handle({ params: { runId }, query, request, reply }) {
      const type = accepts(request.headers.accept, [JSON_TYPE, ORGANISMS_TYPE])
      return await context.runs.use(runId, async run => {
        const tick = query.tick ?? (await lastTick(run))
        const all = await foundTick(run, tick, await run.index.organisms.at(tick), 'organisms')
        const most = Math.max(1, Math.floor(context.settings.limits.answerBytes / COLUMN_BYTES))
        const selected = selectOrganisms(all, {
          isInside: await insideOf(run, query),
          lineage: query.lineage,
          sort: (query.sort ?? 'id') as OrganismOrder,
          after: query.after,
          limit: Math.min(query.limit ?? 1_000, most),
        })
        const asked = { index: 'organisms', tick, form: type } as const
        if (query.tick === undefined) reply.header('cache-control', 'no-store')
        else if (await isNotModified(run, asked, request, reply)) return reply.code(304).send()
        if (type === JSON_TYPE) return sendJson(reply, Buffer.from(JSON.stringify({ tick, ...columnsOf(selected) })))
        const { organisms, total, next } = selected
        reply.headers({
          'content-type': type,
          'tidemark-total': total,
          ...(next !== null && { 'tidemark-next': next }),
        })
        return await sendBytes(reply, encodeOrganisms(organisms), request.headers['accept-encoding'])
      })
    },
  }),

  route({
    method: 'GET',
    path: `${RUN}/lineages`,
    tag,
    name: 'lineages',
    role: 'read',
    summary: 'List the largest lineages of a tick',
    params: RunParams,
    query: strict({
      tick: ChosenTick,
      top: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_LINEAGES, default: 7 })),
    }),
    answers: { 200: { says: 'The lineages', content: LineagesSchema } },
    async handle({ params: { runId }, query, reply }) {
      reply.header('cache-control', 'no-store')
      return await context.runs.use(runId, async run => {
        const tick = query.tick ?? (await lastTick(run))
        const found = await foundTick(run, tick, await run.index.organisms.lineages(tick, query.top), 'organisms')
        return { tick, ...found }
      })
    },
  }),
]

async function lastTick({ index }: OpenRun): Promise<number> {
  const range = await index.organisms.range()
  if (range === null) throw new NotFoundError(`No organisms of run ${index.runId} are indexed yet`)
  return range.tickEnd
}

async function insideOf(
  { index }: OpenRun,
  { region, wrap }: { readonly region?: string; readonly wrap?: unknown },
): Promise<(position: readonly number[]) => boolean> {
  if (region === undefined) return () => true
  const metadata = await index.metadata()
  if (metadata === null) throw new NotFoundError(`The metadata of run ${index.runId} is not indexed yet`)
  return regionFilter(metadata.environment, regionOf(region), isWrapped(wrap))
}

function columnsOf({ organisms, total, next }: SelectedOrganisms): object {
  const column = <T>(valueIn: (organism: Organism) => T): T[] => organisms.map(valueIn)
  const dimensions = organisms[0]?.position.length ?? 0
  return {
    id: column(({ id }) => id),
    parentId: column(({ parentId }) => parentId),
    birthTick: column(({ birthTick }) => birthTick),
    lineage: column(({ lineage }) => lineage),
    energy: column(({ energy }) => (Number.isFinite(energy) ? energy : null)),
    position: Array.from({ length: dimensions }, (_, axis) => column(({ position }) => position[axis] ?? 0)),
    isDead: column(({ isDead }) => isDead),
    total,
    next,
  }
}
