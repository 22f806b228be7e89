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
    summary: 'List indexed runs, oldest first',
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
    summary: 'Get a run with its metadata and indexed ranges',
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
    summary: 'Get the metadata of a run',
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
    summary: 'Get the indexed tick ranges of a run',
    params: RunParams,
    answers: { 200: { says: 'Ranges by index; null if nothing is indexed yet', content: RangesSchema } },
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
    summary: 'List gaps: ticks that are missing from an index',
    params: RunParams,
    query: strict({ limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'Gaps by indexer',
        content: strict({
          gaps: Type.Array(GapSchema),
          more: Type.Boolean({ description: 'Whether there are more gaps than these.' }),
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
    summary: 'Get time series for plots at the requested resolution',
    params: RunParams,
    query: strict({
      ...TickQuerySchema,
      points: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 500 })),
    }),
    answers: {
      200: {
        says: 'At most the requested number of points: means, except for births and deaths, which are sums',
        content: strict({ points: Type.Array(SeriesPointSchema) }),
      },
    },
    async handle({ params: { runId }, query: { from, to, points } }) {
      requireOrder({ from, to })
      return { points: await context.runs.use(runId, ({ index }) => index.series.read(given({ from, to, points }))) }
    },
  }),
]
