import type { RunIndex } from '@tidemark/pipeline'
import { Type } from 'typebox'
import { sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { BadRequestError, NotFoundError } from '../errors.ts'
import { given, requireOrder } from '../inputs.ts'
import { pageByName } from '../paging.ts'
import { API, type Route, route } from '../route.ts'
import { nullable, PageLimit, strict, Text } from '../schemas/common.ts'
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
const MOST_POINTS = 10_000
/** Maximum bytes of a point of the series as JSON: its fields, and the cells of each molecule type. */
const POINT_BYTES = 250
const NUMBER_BYTES = 24
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
    async handle({ query, reply }) {
      const cursorOf = (runId: string): string => runId
      const { items, next } = pageByName(await context.runs.list(), cursorOf, query)
      const page = { name: 'runs', items, toText: JSON.stringify, cursorOf, next }
      return await sendList(reply, page, context.settings.limits.answerBytes)
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
    query: strict({ after: Type.Optional(Text), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page of gaps, by indexer and tick',
        content: strict({ gaps: Type.Array(GapSchema), next: nullable(Type.String()) }),
      },
    },
    async handle({ params: { runId }, query, reply }) {
      const { limit = 100 } = query
      // One more tells whether there is another page.
      const page = { limit: limit + 1, ...(query.after !== undefined && { after: gapAt(query.after) }) }
      const gaps = await context.runs.use(runId, ({ index }) => index.gaps(page))
      const items = gaps.slice(0, limit)
      const last = items.at(-1)
      const next = gaps.length > limit && last !== undefined ? gapPlace(last) : null
      const toText = ({ indexer, tickStart, tickEnd, since, isPermanent, isSkipped }: RunGap): string =>
        JSON.stringify({ indexer, tickStart, tickEnd, since: new Date(since), isPermanent, isSkipped })
      return await sendList(
        reply,
        { name: 'gaps', items, toText, cursorOf: gapPlace, next },
        context.settings.limits.answerBytes,
      )
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
      points: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_POINTS, default: 500 })),
    }),
    answers: {
      200: {
        says: 'At most the requested number of points: means, except for births and deaths, which are sums',
        content: strict({ points: Type.Array(SeriesPointSchema, { maxItems: MOST_POINTS }) }),
      },
    },
    async handle({ params: { runId }, query: { from, to, points = 500 } }) {
      requireOrder({ from, to })
      const { answerBytes } = context.settings.limits
      return await context.runs.use(runId, async ({ index }) => {
        const types = (await index.metadata())?.moleculeTypes.length ?? 0
        const most = Math.max(1, Math.floor(answerBytes / (POINT_BYTES + types * NUMBER_BYTES)))
        return { points: await index.series.read(given({ from, to, points: Math.min(points, most) })) }
      })
    },
  }),
]

type RunGap = Awaited<ReturnType<RunIndex['gaps']>>[number]

const gapPlace = ({ indexer, tickEnd }: RunGap): string => `${indexer}/${tickEnd}`

function gapAt(place: string): Pick<RunGap, 'indexer' | 'tickEnd'> {
  const [, indexer, tick] = /^(.+)\/(\d{1,15})$/s.exec(place) ?? []
  if (indexer === undefined)
    throw new BadRequestError("'after' is not a position in this list. Send the 'next' of a page")
  return { indexer, tickEnd: Number(tick) }
}
