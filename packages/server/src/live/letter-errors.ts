import type { DeadLetterErrorOptions, DeadLetterErrors } from 'tidemark'
import type { Settings } from '../options.ts'

/** Minimum time between two reads of the dead letters, however many pages show them. */
const MAX_AGE_MS = 1_000
/** Filters whose answers are kept. */
const MOST_KEPT = 100

type Kept = { readonly at: number; readonly answer: Promise<DeadLetterErrors> }

/** Kinds of errors, read once for concurrent requests. */
export class LetterErrors {
  readonly #settings: Settings
  readonly #kept = new Map<string, Kept>()

  constructor(settings: Settings) {
    this.#settings = settings
  }

  async read(query: DeadLetterErrorOptions): Promise<DeadLetterErrors> {
    const key = JSON.stringify([query.topic, query.group])
    const kept = this.#kept.get(key)
    if (kept !== undefined && performance.now() - kept.at < MAX_AGE_MS) return await kept.answer
    const { topics } = this.#settings
    if (topics === undefined) return { errors: [], examined: 0, complete: true }
    const fresh = { at: performance.now(), answer: topics.admin.deadLetterErrors(query) }
    this.#kept.delete(key)
    this.#kept.set(key, fresh)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    try {
      return await fresh.answer
    } catch (error) {
      this.#kept.delete(key)
      throw error
    }
  }
}
