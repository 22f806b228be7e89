import type { RunIndex } from '@tidemark/pipeline'
import { Type } from 'typebox'
import { sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { BadRequestError, NotFoundError } from '../errors.ts'
import { given, requireOrder } from '../inputs.ts'
import { API, type Route, route } from '../route.ts'
import { nullable, PageLimit, strict, Text } from '../schemas/common.ts'
import {
  GapSchema,
  IndexedTicksSchema,
  MetadataSchema,
  MOST_RANGES,
  RangesSchema,
  RunFactsSchema,
  RunId,
  RunParams,
  SeriesPointSchema,
  TickQuerySchema,
} from '../schemas/runs.ts'

const tag = 'runs'
const MOST_POINTS = 10_000
/** Maximum number of runs per request with facts, each of which requires an open index. */
const MOST_FACTS = 100
/** Maximum bytes of a point of the series as JSON: its fields, and the cells of each molecule type. */
const POINT_BYTES = 500
const NUMBER_BYTES = 24
export const RUN = `${API}/runs/:runId`

export const runRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${API}/runs`,
    tag,
    name: 'listRuns',
    role: 'read',
    summary: 'List indexed runs',
    says: `With facts=true a page has at most ${MOST_FACTS} runs.`,
    query: strict({
      after: Type.Optional(RunId),
      limit: Type.Optional(PageLimit),
      order: Type.Optional(Type.Enum(['oldest', 'newest'], { default: 'oldest', description: 'Which comes first.' })),
      facts: Type.Optional(Type.Boolean({ default: false, description: 'Facts of each run in place of its id.' })),
    }),
    answers: {
      200: {
        says: 'A page of run ids or, with facts=true, of facts',
        content: strict({
          runs: Type.Array(Type.Union([Type.String(), RunFactsSchema]), { maxItems: 1_000 }),
          next: nullable(Type.String()),
        }),
      },
    },
    async handle({ query: { after, limit = 100, order = 'oldest', facts = false }, reply }) {
      const listed = await context.runs.list()
      const sorted = order === 'newest' ? listed.toReversed() : listed
      const isAfter = (runId: string): boolean =>
        after === undefined || (order === 'newest' ? runId < after : runId > after)
      const rest = sorted.filter(isAfter)
      const page = rest.slice(0, facts ? Math.min(limit, MOST_FACTS) : limit)
      const next = rest.length > page.length ? (page.at(-1) ?? null) : null
      const { answerBytes } = context.settings.limits
      const list = { name: 'runs', toText: JSON.stringify, next }
      if (!facts) return await sendList(reply, { ...list, items: page, cursorOf: runId => runId }, answerBytes)
      reply.header('cache-control', 'no-store')
      const items = await context.runsLook.facts(page)
      return await sendList(reply, { ...list, items, cursorOf: ({ runId }) => runId }, answerBytes)
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
      // One more, to find out whether there is another page.
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
    path: `${RUN}/ticks`,
    tag,
    name: 'runTicks',
    role: 'read',
    summary: 'List the ticks whose cells are indexed, as ranges, and those that are missing',
    params: RunParams,
    query: strict({
      ...TickQuerySchema,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_RANGES, default: MOST_RANGES })),
    }),
    answers: { 200: { says: 'A page of ranges; next is the from of the following page', content: IndexedTicksSchema } },
    async handle({ params: { runId }, query: { from, to, limit } }) {
      requireOrder({ from, to })
      return await context.runs.use(runId, ({ index }) => index.environment.ticks(given({ from, to, limit })))
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
      lineage: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Only organisms of this lineage, in at most 500 samples of one tick each, without cells.',
        }),
      ),
    }),
    answers: {
      200: {
        says:
          'At most the requested number of points: means, except for births and deaths, which are sums; min and max are ' +
          'the least and the largest of a tick',
        content: strict({ points: Type.Array(SeriesPointSchema, { maxItems: MOST_POINTS }) }),
      },
    },
    async handle({ params: { runId }, query: { from, to, points = 500, lineage } }) {
      requireOrder({ from, to })
      const { answerBytes } = context.settings.limits
      return await context.runs.use(runId, async ({ index }) => {
        const types = (await index.metadata())?.moleculeTypes.length ?? 0
        const most = Math.max(1, Math.floor(answerBytes / (POINT_BYTES + types * NUMBER_BYTES)))
        return { points: await index.series.read(given({ from, to, lineage, points: Math.min(points, most) })) }
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
