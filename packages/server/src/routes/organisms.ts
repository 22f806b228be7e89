import type { Organism, OrganismFacts } from '@tidemark/pipeline'
import { Type } from 'typebox'
import { sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { given, requireOrder } from '../inputs.ts'
import { AS_YOU_HAVE_IT, type Route, route } from '../route.ts'
import { isNotModified } from '../runs/etag.ts'
import { foundTick } from '../runs/missing-tick.ts'
import type { OpenRun } from '../runs/run-indexes.ts'
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
    role: 'read',
    summary: 'List the organisms of a tick by id',
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
      const { all, isCurrent } = await context.runs.use(runId, async run => {
        const found = await foundTick(run, tick, await run.index.organisms.at(tick), 'organisms')
        return { all: found, isCurrent: await isNotModified(run, asked, request, reply) }
      })
      if (isCurrent) return reply.code(304).send()
      const rest = after < 0 ? [...all] : all.filter(({ id }) => id > after)
      const page = rest.sort((one, other) => one.id - other.id).slice(0, limit)
      return await sendList(
        reply,
        {
          name: 'organisms',
          items: page,
          toText: organismText,
          cursorOf: ({ id }) => id,
          next: rest.length > limit ? (page.at(-1)?.id ?? null) : null,
          more: { total: all.length },
        },
        context.settings.limits.answerBytes,
      )
    },
  }),

  route({
    method: 'GET',
    path: ORGANISM,
    tag,
    name: 'organism',
    role: 'read',
    summary: 'Get the constant facts of an organism',
    params: OrganismParams,
    answers: { 200: { says: 'Facts of the organism', content: OrganismFactsSchema } },
    async handle({ params: { runId, organismId } }) {
      return await ofOrganism(context, runId, organismId, async (_, facts) => facts)
    },
  }),

  route({
    method: 'GET',
    path: `${ORGANISM}/ticks/:tick`,
    tag,
    name: 'organismAt',
    role: 'read',
    summary: 'Get an organism at a tick',
    params: OrganismTickParams,
    answers: {
      200: {
        says: 'State of the organism; null if it did not exist',
        content: strict({ organism: nullable(OrganismSchema) }),
      },
    },
    async handle({ params: { runId, organismId, tick } }) {
      const organism = await ofOrganism(context, runId, organismId, async run => {
        return await foundTick(run, tick, await run.index.organisms.oneAt(organismId, tick), 'organisms')
      })
      return { organism: organism === undefined ? null : organismJson(organism) }
    },
  }),

  route({
    method: 'GET',
    path: `${ORGANISM}/life`,
    tag,
    name: 'life',
    role: 'read',
    summary: 'Get states of an organism over time, evenly sampled from the range',
    params: OrganismParams,
    query: strict({
      ...TickQuerySchema,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000 })),
    }),
    answers: {
      200: {
        says: 'States of the organism, oldest first',
        content: strict({
          life: Type.Array(strict({ tick: Type.Integer(), state: OrganismSchema })),
          next: nullable(Type.Integer({ description: "Value of 'from' for the next page; null on the last page." })),
        }),
      },
    },
    async handle({ params: { runId, organismId }, query: { from, to, limit }, reply }) {
      requireOrder({ from, to })
      const { answerBytes } = context.settings.limits
      const { moments, next } = await ofOrganism(context, runId, organismId, ({ index }) =>
        index.organisms.lifePage(organismId, { ...given({ from, to, limit }), maxBytes: answerBytes }),
      )
      return await sendList(
        reply,
        {
          name: 'life',
          items: moments,
          toText: ({ tick, state }) => `{"tick":${tick},"state":${organismText(state)}}`,
          cursorOf: ({ tick }) => tick + 1,
          next,
        },
        answerBytes,
      )
    },
  }),

  route({
    method: 'GET',
    path: `${ORGANISM}/lineage`,
    tag,
    name: 'lineage',
    role: 'read',
    summary: 'Get the ancestors and children of an organism',
    params: OrganismParams,
    says: 'To go on with the ancestors, ask for the lineage of the last one.',
    query: strict({
      after: Type.Optional(Type.Integer({ minimum: 0, description: 'Children above this id only.' })),
      limit: Type.Optional(PageLimit),
    }),
    answers: {
      200: {
        says: 'Ancestors, starting with the organism itself, and children by id',
        content: strict({
          ancestors: Type.Array(OrganismFactsSchema),
          children: Type.Array(OrganismFactsSchema),
          next: nullable(Type.Integer({ description: 'after for the next children; null: these are all.' })),
        }),
      },
    },
    async handle({ params: { runId, organismId }, query: { limit = 100, after }, reply }) {
      const { ancestors, children } = await ofOrganism(context, runId, organismId, ({ index }) =>
        // One more, to find out whether there is another page.
        index.organisms.lineage(organismId, limit + 1, after),
      )
      const items = children.slice(0, limit)
      const next = children.length > limit ? (items.at(-1)?.id ?? null) : null
      return await sendList(
        reply,
        {
          name: 'children',
          items,
          toText: JSON.stringify,
          cursorOf: ({ id }) => id,
          next,
          more: { ancestors: ancestors.slice(0, limit) },
        },
        context.settings.limits.answerBytes,
      )
    },
  }),
]

const organismJson = ({ genome, ...organism }: Organism): object => ({
  ...organism,
  genomeBase64: Buffer.from(genome).toString('base64'),
})

const organismText = (organism: Organism): string => JSON.stringify(organismJson(organism))

/** An organism that was never seen is not found, whatever is asked about it. */
async function ofOrganism<T>(
  context: Context,
  runId: string,
  organismId: number,
  read: (run: OpenRun, facts: OrganismFacts) => Promise<T>,
): Promise<T> {
  return await context.runs.use(runId, async run => {
    const facts = await run.index.organisms.facts(organismId)
    if (facts === null) throw new NotFoundError(`No organism ${organismId} is indexed`)
    return await read(run, facts)
  })
}
