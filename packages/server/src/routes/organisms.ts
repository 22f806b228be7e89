import type { Organism } from '@tidemark/pipeline'
import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { given } from '../inputs.ts'
import { AS_YOU_HAVE_IT, type Route, route } from '../route.ts'
import { isKnown } from '../runs/tick-cache.ts'
import { nullable, PageLimit, strict } from '../schemas/common.ts'
import {
  OrganismFactsSchema,
  OrganismParams,
  OrganismSchema,
  OrganismTickParams,
  TickParams,
  TickQuerySchema,
} from '../schemas/runs.ts'
import { RUN } from './runs.ts'

const tag = 'runs'
const ORGANISM = `${RUN}/organisms/:organismId`

export const organismRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: `${RUN}/ticks/:tick/organisms`,
    tag,
    name: 'organismsAt',
    summary: 'The organisms of a tick, by id',
    params: TickParams,
    query: strict({
      after: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 10_000 })),
    }),
    answers: {
      200: {
        says: 'A page',
        content: strict({
          organisms: Type.Array(OrganismSchema),
          next: nullable(Type.Integer()),
          total: Type.Integer(),
        }),
      },
      304: AS_YOU_HAVE_IT,
    },
    async handle({ params: { runId, tick }, query: { after = -1, limit = 10_000 }, request, reply }) {
      const asked = { index: 'organisms', tick, form: 'organisms' } as const
      const all = await context.runs.use(runId, async run => {
        return (await isKnown(run, asked, request, reply)) ? 'known' : await run.index.organisms.at(tick)
      })
      if (all === 'known') return reply.code(304).send()
      if (all === null) throw new NotFoundError(`Tick ${tick} is not indexed`)
      const rest = after < 0 ? [...all] : all.filter(({ id }) => id > after)
      const page = rest.sort((one, other) => one.id - other.id).slice(0, limit)
      return {
        organisms: page.map(organismJson),
        next: rest.length > limit ? (page.at(-1)?.id ?? null) : null,
        total: all.length,
      }
    },
  }),

  route({
    method: 'GET',
    path: ORGANISM,
    tag,
    name: 'organism',
    summary: 'What is told of an organism once',
    params: OrganismParams,
    answers: { 200: { says: 'Its facts', content: OrganismFactsSchema } },
    async handle({ params: { runId, organismId } }) {
      const facts = await context.runs.use(runId, ({ index }) => index.organisms.facts(organismId))
      return facts ?? unknown(organismId)
    },
  }),

  route({
    method: 'GET',
    path: `${ORGANISM}/ticks/:tick`,
    tag,
    name: 'organismAt',
    summary: 'One organism at a tick',
    params: OrganismTickParams,
    answers: {
      200: { says: 'Its state; null: it was not there', content: strict({ organism: nullable(OrganismSchema) }) },
    },
    async handle({ params: { runId, organismId, tick } }) {
      const organism = await context.runs.use(runId, ({ index }) => index.organisms.oneAt(organismId, tick))
      if (organism === null) throw new NotFoundError(`Tick ${tick} is not indexed`)
      return { organism: organism === undefined ? null : organismJson(organism) }
    },
  }),

  route({
    method: 'GET',
    path: `${ORGANISM}/life`,
    tag,
    name: 'life',
    summary: 'Its states over time, evenly chosen from the range',
    params: OrganismParams,
    query: strict({
      ...TickQuerySchema,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000 })),
    }),
    answers: {
      200: {
        says: 'Oldest first',
        content: strict({ life: Type.Array(strict({ tick: Type.Integer(), state: OrganismSchema })) }),
      },
    },
    async handle({ params: { runId, organismId }, query: { from, to, limit } }) {
      const life = await context.runs.use(runId, ({ index }) =>
        index.organisms.life(organismId, given({ from, to, limit })),
      )
      return { life: life.map(({ tick, state }) => ({ tick, state: organismJson(state) })) }
    },
  }),

  route({
    method: 'GET',
    path: `${ORGANISM}/lineage`,
    tag,
    name: 'lineage',
    summary: 'Itself, its parent, and so on; and its children',
    params: OrganismParams,
    query: strict({ limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'Ancestors from itself upwards, and children',
        content: strict({ ancestors: Type.Array(OrganismFactsSchema), children: Type.Array(OrganismFactsSchema) }),
      },
    },
    async handle({ params: { runId, organismId }, query: { limit = 100 } }) {
      return await context.runs.use(runId, ({ index }) => index.organisms.lineage(organismId, limit))
    },
  }),
]

const organismJson = ({ genome, ...organism }: Organism): object => ({
  ...organism,
  genomeBase64: Buffer.from(genome).toString('base64'),
})

function unknown(organismId: number): never {
  throw new NotFoundError(`No organism ${organismId} is indexed`)
}
