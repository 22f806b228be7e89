import { type FailedBatch, failedBatchPlace, type LetterFilter, type PipelineLetter } from '@tidemark/pipeline'
import { type Static, Type } from 'typebox'
import { sendList } from '../answers/json-list.ts'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { given } from '../inputs.ts'
import { withoutPaths } from '../problems/http-words.ts'
import { API, type Route, route } from '../route.ts'
import { Count, nullable, PageLimit, strict, Text } from '../schemas/common.ts'
import { FailedBatchSchema, LetterId, PipelineLetterSchema } from '../schemas/pipeline-letters.ts'
import { RunId, RunParams } from '../schemas/runs.ts'

const tag = 'pipeline'
const LETTERS = `${API}/pipeline/dead-letters`
const FAILED = `${API}/pipeline/runs/:runId/failed-batches`

const Kind = Type.Enum(['tick', 'metadata', 'batch', 'other'])

const FILTER = {
  kind: Type.Optional(Kind),
  service: Type.Optional(Text),
  runId: Type.Optional(RunId),
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description: 'Text that the reason contains.' })),
}

const Selection = strict(
  {
    ids: Type.Optional(Type.Array(LetterId, { minItems: 1, maxItems: 1_000 })),
    ...FILTER,
    all: Type.Optional(Type.Literal(true)),
  },
  { description: 'Dead letters that match every given field. All of them require all: true.' },
)

export const pipelineLetterRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: LETTERS,
    tag,
    name: 'listPipelineLetters',
    role: 'read',
    summary: 'List ticks, metadata and batches that the pipeline gave up',
    query: strict({ ...FILTER, after: Type.Optional(Text), limit: Type.Optional(PageLimit) }),
    answers: {
      200: {
        says: 'A page, the oldest of each topic first',
        content: strict({ deadLetters: Type.Array(PipelineLetterSchema), next: nullable(Type.String()) }),
      },
    },
    async handle({ query: { limit = 100, after, ...filter }, reply }) {
      const letters = await context.pipeline.letters()
      const page = await letters.page(filter as LetterFilter, { ...given({ after }), limit })
      const toText = (letter: PipelineLetter): string => JSON.stringify(letterJson(letter))
      return await sendList(
        reply,
        { name: 'deadLetters', items: page.letters, toText, cursorOf: ({ place }) => place, next: page.next },
        context.settings.limits.answerBytes,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${LETTERS}/:letter`,
    tag,
    name: 'pipelineLetter',
    role: 'read',
    summary: 'Get a dead letter of the pipeline with its reason and file',
    params: strict({ letter: LetterId }),
    answers: { 200: { says: 'The dead letter', content: PipelineLetterSchema } },
    async handle({ params: { letter: id } }) {
      const letter = await (await context.pipeline.letters()).inspect(id)
      if (letter === null) throw new NotFoundError(`The pipeline has no dead letter '${id}'`)
      return letterJson(letter)
    },
  }),
  route({
    method: 'POST',
    path: `${LETTERS}/redrive`,
    tag,
    name: 'redrivePipelineLetters',
    role: 'operate',
    summary: 'Store given-up ticks and index given-up batches again',
    says: 'Ticks and metadata are stored and announced. A batch is indexed again by the indexer that failed. Dead letters that fail again are kept.',
    body: Selection,
    answers: {
      200: {
        says: 'Number of redriven dead letters, and those that failed again with the reason',
        content: strict({
          redriven: Count,
          failed: Type.Array(strict({ id: Type.String(), error: Type.String() }), { maxItems: 100 }),
        }),
      },
    },
    async handle({ body }) {
      const { redriven, failed } = await (await context.pipeline.letters()).redrive(selectionOf(body))
      return { redriven, failed: failed.map(({ id, error }) => ({ id, error: withoutPaths(error) })) }
    },
  }),
  route({
    method: 'POST',
    path: `${LETTERS}/discard`,
    tag,
    name: 'discardPipelineLetters',
    role: 'operate',
    summary: 'Delete dead letters of the pipeline permanently',
    body: Selection,
    answers: { 200: { says: 'Number of deleted dead letters', content: strict({ discarded: Count }) } },
    async handle({ body }) {
      return { discarded: await (await context.pipeline.letters()).discard(selectionOf(body)) }
    },
  }),

  route({
    method: 'GET',
    path: FAILED,
    tag,
    name: 'failedBatches',
    role: 'read',
    summary: 'List batches of a run that indexers gave up in their ledgers',
    says: "Only indexers with the source 'storage' mark batches as failed. Indexers with the source 'topic' dead-letter them instead.",
    params: RunParams,
    query: strict({
      indexer: Type.Optional(Text),
      after: Type.Optional(Type.String({ maxLength: 2_048, description: 'next of the page before.' })),
      limit: Type.Optional(PageLimit),
    }),
    answers: {
      200: {
        says: 'A page, by indexer and key',
        content: strict({ batches: Type.Array(FailedBatchSchema), next: nullable(Type.String()) }),
      },
    },
    async handle({ params: { runId }, query: { limit = 100, ...query }, reply }) {
      // One more, to find out whether there is another page.
      const failed = await context.pipeline.ledgers().failed(runId, { ...query, limit: limit + 1 })
      const items = failed.slice(0, limit)
      const last = items.at(-1)
      const next = failed.length > limit && last !== undefined ? failedBatchPlace(last) : null
      const toText = (batch: FailedBatch): string => JSON.stringify(batchJson(batch))
      return await sendList(
        reply,
        { name: 'batches', items, toText, cursorOf: failedBatchPlace, next },
        context.settings.limits.answerBytes,
      )
    },
  }),
  route({
    method: 'POST',
    path: `${FAILED}/retry`,
    tag,
    name: 'retryFailedBatch',
    role: 'operate',
    summary: 'Retry a failed batch',
    params: RunParams,
    body: strict({ indexer: Text, key: Text }),
    answers: { 200: { says: 'Whether there was such a batch', content: strict({ retried: Type.Boolean() }) } },
    async handle({ params: { runId }, body: { indexer, key } }) {
      return { retried: await context.pipeline.ledgers().retry(runId, indexer, key) }
    },
  }),
]

type Selected = Static<typeof Selection>

const selectionOf = (body: Selected) => body as LetterFilter & { readonly all?: true }

const letterJson = (letter: PipelineLetter): object => ({
  ...letter,
  place: undefined,
  reason: withoutPaths(letter.reason),
  stackTraceLines: undefined,
})

const batchJson = ({ claimer: _, ...batch }: FailedBatch): object => ({
  indexer: batch.indexer,
  key: batch.key,
  tickStart: batch.tickStart,
  tickEnd: batch.tickEnd,
  attempts: batch.version,
  failedAt: batch.settledAt === null ? null : new Date(batch.settledAt),
  error: batch.error === null ? null : withoutPaths(batch.error),
})
