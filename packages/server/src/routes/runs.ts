import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { given, requireOrder } from '../inputs.ts'
import { pageByName } from '../paging.ts'
import { API, type Route, route } from '../route.ts'
import { nullable, PageLimit, strict } from '../schemas/common.ts'
import {
  GapSchema,
  MetadataSchema,
  RangesSchema,
  RunId,
  RunParams,
  SeriesPointSchema,
  TickQuerySchema,
} from '../schemas/runs.ts'

const tag = 'runs'
export const RUN = `${API}/runs/:runId`

export const runRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/runs`,
    tag,
    name: 'listRuns',
    role: 'read',
    summary: 'The runs that have an index, oldest first',
    query: strict({ after: Type.Optional(RunId), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page of run ids',
        content: strict({ runs: Type.Array(Type.String()), next: nullable(Type.String()) }),
      },
    },
    async handle({ query }) {
      const { items, next } = pageByName(await context.runs.list(), runId => runId, query)
      return { runs: items, next }
    },
  }),

  route({
    method: 'GET',
    path: RUN,
    tag,
    name: 'describeRun',
    role: 'read',
    summary: 'A run: its metadata and what of it is indexed',
    params: RunParams,
    answers: {
      200: {
        says: 'The run',
        content: strict({ runId: Type.String(), metadata: nullable(MetadataSchema), indexed: RangesSchema }),
      },
    },
    async handle({ params: { runId } }) {
      const metadata = await context.runs.use(runId, ({ index }) => index.metadata())
      return { runId, metadata, indexed: await context.runs.ranges(runId) }
    },
  }),

  route({
    method: 'GET',
    path: `${RUN}/metadata`,
    tag,
    name: 'runMetadata',
    role: 'read',
    summary: 'What the simulation told of itself',
    params: RunParams,
    answers: { 200: { says: 'The metadata', content: MetadataSchema } },
    async handle({ params: { runId } }) {
      const metadata = await context.runs.use(runId, ({ index }) => index.metadata())
      if (metadata === null) throw new NotFoundError(`The metadata of run ${runId} is not indexed yet`)
      return metadata
    },
  }),

  route({
    method: 'GET',
    path: `${RUN}/ranges`,
    tag,
    name: 'runRanges',
    role: 'read',
    summary: 'From which tick to which it is indexed',
    params: RunParams,
    answers: { 200: { says: 'By index; null: nothing yet', content: RangesSchema } },
    async handle({ params: { runId } }) {
      return await context.runs.ranges(runId)
    },
  }),

  route({
    method: 'GET',
    path: `${RUN}/gaps`,
    tag,
    name: 'runGaps',
    role: 'read',
    summary: 'Ticks that should be there and have not arrived',
    params: RunParams,
    query: strict({ limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'The gaps, by indexer',
        content: strict({
          gaps: Type.Array(GapSchema),
          more: Type.Boolean({ description: 'There are more than these.' }),
        }),
      },
    },
    async handle({ params: { runId }, query: { limit = 100 } }) {
      const gaps = await context.runs.use(runId, ({ index }) => index.gaps())
      return {
        gaps: gaps.slice(0, limit).map(({ indexer, tickStart, tickEnd, since, isPermanent, isSkipped }) => {
          return { indexer, tickStart, tickEnd, since: new Date(since), isPermanent, isSkipped }
        }),
        more: gaps.length > limit,
      }
    },
  }),

  route({
    method: 'GET',
    path: `${RUN}/series`,
    tag,
    name: 'series',
    role: 'read',
    summary: 'Counts over time, for plots, at the resolution asked for',
    params: RunParams,
    query: strict({
      ...TickQuerySchema,
      points: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 500 })),
    }),
    answers: {
      200: {
        says: 'At most so many points: means, but births and deaths are sums',
        content: strict({ points: Type.Array(SeriesPointSchema) }),
      },
    },
    async handle({ params: { runId }, query: { from, to, points } }) {
      requireOrder({ from, to })
      return { points: await context.runs.use(runId, ({ index }) => index.series.read(given({ from, to, points }))) }
    },
  }),
]
