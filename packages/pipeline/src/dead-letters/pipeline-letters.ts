import { ConfigError, TopicNotFoundError } from 'tidemark'
import { DEAD_LETTER_TOPIC, DeadLetterQueue, type KeptLetter } from '../queues/dead-letter-queue.ts'
import { describeLetter, type LetterKind, type PipelineLetter } from './letter.ts'
import { type RedriveTargets, redriveLetter } from './redrive-letter.ts'

const INDEXER_LETTER_TOPIC = 'indexer-dead-letters'
const LETTER_TOPICS = [DEAD_LETTER_TOPIC, INDEXER_LETTER_TOPIC]

/** Selection of dead letters: those that match every given field. */
export type LetterFilter = {
  /** Dead letters with these ids. */
  readonly ids?: readonly string[]
  /** Dead letters of this topic. */
  readonly topic?: string
  /** Dead letters of this kind. */
  readonly kind?: LetterKind
  /** Dead letters of this service. */
  readonly service?: string
  /** Dead letters of this run. */
  readonly runId?: string
  /** Dead letters whose reason contains this text. */
  readonly reason?: string
}

/** Selection of dead letters to change. Without any field, `all` is required. */
export type LetterSelection = LetterFilter & {
  /** All dead letters. */
  readonly all?: true
}

/** Options of a page of dead letters. */
export type LetterPageOptions = {
  /** `next` of the page before. */
  readonly after?: string
  /** Maximum number of dead letters. */
  readonly limit?: number
}

type PlacedPipelineLetter = PipelineLetter & { readonly place: string }

/** A page of dead letters. */
export type PipelineLetterPage = {
  /** Dead letters of the page. */
  readonly letters: readonly PlacedPipelineLetter[]
  /** Value of `after` for the next page; null on the last page. */
  readonly next: string | null
}

/** A dead letter that failed again. */
export type LetterOutcome = {
  /** Id of the dead letter. */
  readonly id: string
  /** Reason of the failure. */
  readonly error: string
}
/** Result of a redrive. */
export type RedrivenLetters = {
  /** Number of redriven dead letters. */
  readonly redriven: number
  /** Dead letters that failed again and are kept. */
  readonly failed: readonly LetterOutcome[]
}

/** Further failures are not listed: they are usually the same. */
const LISTED_FAILURES = 100

/**
 * Dead letters of a pipeline: ticks and metadata that could not be stored, and batches that an indexer could not
 * index. Those that fail again when they are redriven are kept, with the reason.
 */
export class PipelineLetters {
  readonly #targets: RedriveTargets
  readonly #topics: readonly string[]

  constructor(targets: RedriveTargets, topics: readonly string[] = LETTER_TOPICS) {
    this.#targets = targets
    this.#topics = topics
  }

  /** Lists dead letters, the oldest of each topic first, whether or not they are being redriven. */
  async list(filter: LetterFilter = {}, { limit = 100 }: { readonly limit?: number } = {}): Promise<PipelineLetter[]> {
    return (await this.page(filter, { limit })).letters.map(({ place: _, ...letter }) => letter)
  }

  /** Lists dead letters page by page: pass `next`, or the `place` of a letter, as `after` of the next page. */
  async page(filter: LetterFilter = {}, { after, limit = 100 }: LetterPageOptions = {}): Promise<PipelineLetterPage> {
    const found: PlacedPipelineLetter[] = []
    const start = cursorOf(after)
    const all = await this.#queues(filter)
    const first = start === undefined ? 0 : all.findIndex(({ topic }) => topic === start.topic)
    // One more, to find out whether there is another page.
    for (const [index, queue] of (first < 0 ? [] : all.slice(first)).entries()) {
      for (let at: number | null = index === 0 ? (start?.id ?? 0) : 0; at !== null && found.length <= limit; ) {
        const page = await queue.page({ after: at, limit: Math.min(limit + 1, 100) })
        const described = page.letters.map(letter => ({
          ...describeLetter(queue.topic, letter),
          place: `${queue.topic}/${letter.place}`,
        }))
        found.push(...described.filter(letter => matches(letter, filter)))
        at = page.next
      }
    }
    const letters = found.slice(0, limit)
    return { letters, next: found.length > limit ? (letters.at(-1)?.place ?? null) : null }
  }

  /** Returns one dead letter, or null if it does not exist any more. */
  async inspect(id: string): Promise<PipelineLetter | null> {
    const [letter] = await this.list({ ids: [id] }, { limit: 1 })
    return letter ?? null
  }

  /** Repeats what failed: stores ticks and metadata, and indexes batches again. */
  async redrive(selection: LetterSelection): Promise<RedrivenLetters> {
    const failed: LetterOutcome[] = []
    const redriven = await this.#each(selection, async (letter, { id }) => {
      try {
        await redriveLetter(letter, this.#targets)
        return true
      } catch (error) {
        if (failed.length < LISTED_FAILURES) failed.push({ id, error: (error as Error).message })
        return false
      }
    })
    return { redriven, failed }
  }

  /** Deletes dead letters permanently and returns their number. */
  async discard(selection: LetterSelection): Promise<number> {
    return await this.#each(selection, async () => true)
  }

  /** How many of the matching ones were processed. */
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

  /** A topic that does not exist contains nothing. */
  async #queues({ topic }: LetterFilter): Promise<DeadLetterQueue[]> {
    const { topics } = this.#targets
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

function cursorOf(after: string | undefined): { readonly topic: string; readonly id: number } | undefined {
  if (after === undefined) return undefined
  const [, topic = '', id = ''] = /^([^/]+)\/(\d{1,15})$/.exec(after) ?? []
  if (topic === '') throw new ConfigError('after', after, "the 'next' of the previous page")
  return { topic, id: Number(id) }
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
