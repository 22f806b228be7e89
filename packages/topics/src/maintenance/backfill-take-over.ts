import type { BackfillRunner } from '../backfill/backfill-runner.ts'
import type { Store } from '../stores/store.ts'
import type { Job, JobContext } from './job.ts'

/** Messages per transaction while bitmaps are filled after a tracking switch. */
const FILL_PAGE = 10_000

/** Continues what a killed process had begun: backfills, and filling bitmaps after a tracking switch. */
export class BackfillTakeOver implements Job {
  readonly name = 'backfills'
  readonly goesByAge = false
  readonly everyMs: number
  readonly #store: Store
  readonly #backfills: BackfillRunner

  constructor(store: Store, backfills: BackfillRunner, everyMs: number) {
    this.#store = store
    this.#backfills = backfills
    this.everyMs = everyMs
  }

  async run({ renew, signal }: JobContext): Promise<Record<string, number>> {
    const topics = (await this.#store.topics.list()).filter(({ config }) => config.tracking === 'reference')
    const result = { filledPages: 0, takenOver: 0, completed: 0 }
    for (const topic of topics) {
      while (!signal.aborted && (await this.#store.tracking.fill(topic, FILL_PAGE))) {
        result.filledPages++
        await renew()
      }
    }
    while (!signal.aborted) {
      const ended = await this.#backfills.takeOver(topics, signal, renew)
      if (ended === undefined) break
      result.takenOver++
      if (ended === 'COMPLETED') result.completed++
    }
    return result
  }
}
