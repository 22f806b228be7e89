import { ConfigError, TopicNotFoundError } from 'tidemark'
import { DEAD_LETTER_TOPIC, DeadLetterQueue, type KeptLetter } from '../queues/dead-letter-queue.ts'
import { describeLetter, type LetterKind, type PipelineLetter } from './letter.ts'
import { type LetterPlaces, redriveLetter } from './redrive-letter.ts'

const INDEXER_LETTER_TOPIC = 'indexer-dead-letters'
const LETTER_TOPICS = [DEAD_LETTER_TOPIC, INDEXER_LETTER_TOPIC]

/** Letters that match every given field. */
export type LetterFilter = {
  readonly ids?: readonly string[]
  readonly topic?: string
  readonly kind?: LetterKind
  readonly service?: string
  readonly runId?: string
  /** What the reason contains. */
  readonly reason?: string
}

/** With nothing else given, all of them have to be asked for. */
export type LetterSelection = LetterFilter & { readonly all?: true }

export type LetterOutcome = { readonly id: string; readonly error: string }
export type RedrivenLetters = { readonly redriven: number; readonly failed: readonly LetterOutcome[] }

/** More failures are not listed: they are most often the same. */
const LISTED_FAILURES = 100

/**
 * What the pipeline has given up, in its two topics: ticks and metadata that could not be stored, batches that an indexer could
 * not index. Redriving does what could not be done before; what fails again stays, with the reason in the answer.
 */
export class PipelineLetters {
  readonly #places: LetterPlaces
  readonly #topics: readonly string[]

  constructor(places: LetterPlaces, topics: readonly string[] = LETTER_TOPICS) {
    this.#places = places
    this.#topics = topics
  }

  /** The oldest of each topic first, whether somebody is at work on them or not. */
  async list(filter: LetterFilter = {}, { limit = 100 }: { readonly limit?: number } = {}): Promise<PipelineLetter[]> {
    const found: PipelineLetter[] = []
    for (const queue of await this.#queues(filter)) {
      for (let after: number | null = 0; after !== null && found.length < limit; ) {
        const page = await queue.page({ after, limit: Math.min(limit, 100) })
        const described = page.letters.map(letter => describeLetter(queue.topic, letter))
        found.push(...described.filter(letter => matches(letter, filter)))
        after = page.next
      }
    }
    return found.slice(0, limit)
  }

  /** null: there is none of that id, or it was dealt with. */
  async inspect(id: string): Promise<PipelineLetter | null> {
    const [letter] = await this.list({ ids: [id] }, { limit: 1 })
    return letter ?? null
  }

  async redrive(selection: LetterSelection): Promise<RedrivenLetters> {
    const failed: LetterOutcome[] = []
    const redriven = await this.#each(selection, async (letter, { id }) => {
      try {
        await redriveLetter(letter, this.#places)
        return true
      } catch (error) {
        if (failed.length < LISTED_FAILURES) failed.push({ id, error: (error as Error).message })
        return false
      }
    })
    return { redriven, failed }
  }

  /** For good. Gives how many. */
  async discard(selection: LetterSelection): Promise<number> {
    return await this.#each(selection, async () => true)
  }

  /** How many of those that match were dealt with. */
  async #each(
    selection: LetterSelection,
    deal: (kept: KeptLetter, letter: PipelineLetter) => Promise<boolean>,
  ): Promise<number> {
    requireSelection(selection)
    const wanted = new Set(selection.ids)
    let dealtWith = 0
    for (const queue of await this.#queues(selection)) {
      await queue.eachTaken(async kept => {
        const letter = describeLetter(queue.topic, kept)
        if (!matches(letter, selection)) return 'keep'
        const isDone = await deal(kept, letter)
        if (isDone) dealtWith++
        wanted.delete(letter.id)
        return isDone ? 'done' : 'keep'
      })
      if (selection.ids !== undefined && wanted.size === 0) break
    }
    return dealtWith
  }

  /** A topic that nobody has made holds nothing. */
  async #queues({ topic }: LetterFilter): Promise<DeadLetterQueue[]> {
    const { topics } = this.#places
    const queues: DeadLetterQueue[] = []
    for (const name of this.#topics) {
      if (topic !== undefined && topic !== name) continue
      try {
        await topics.admin.describeTopic(name)
      } catch (error) {
        if (error instanceof TopicNotFoundError) continue
        throw error
      }
      queues.push(await DeadLetterQueue.open(topics, { topic: name }))
    }
    return queues
  }
}

function matches(letter: PipelineLetter, { ids, topic, kind, service, runId, reason }: LetterFilter): boolean {
  return (
    (ids === undefined || ids.includes(letter.id)) &&
    (topic === undefined || letter.topic === topic) &&
    (kind === undefined || letter.kind === kind) &&
    (service === undefined || letter.service === service) &&
    (runId === undefined || letter.runId === runId) &&
    (reason === undefined || letter.reason.includes(reason))
  )
}

function requireSelection({ all, ...filter }: LetterSelection): void {
  const isFiltered = Object.values(filter).some(value => value !== undefined)
  if (all && isFiltered) throw new ConfigError('all', true, 'left out, where letters are chosen by id or filter')
  if (!all && !isFiltered) throw new ConfigError('all', undefined, 'true, or ids or a filter')
}
