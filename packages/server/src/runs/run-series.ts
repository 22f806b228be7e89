import type { SeriesPoint } from '@tidemark/pipeline'
import type { Logger } from 'tidemark'
import type { RunIndexes } from './run-indexes.ts'

/** Points per event: more ticks than this in a second are averaged. */
export const MOST_NEW_POINTS = 100

export type NewPoints = { readonly runId: string; readonly points: readonly SeriesPoint[] }

/** New points of watched runs, read once for all watchers. */
export class RunSeries {
  readonly #runs: RunIndexes
  readonly #logger: Logger
  /** Last tick that was sent, by run. */
  readonly #told = new Map<string, number>()

  constructor(runs: RunIndexes, logger: Logger) {
    this.#runs = runs
    this.#logger = logger
  }

  /** What has arrived since the last call; nothing for a run that was not requested then. */
  async since(runIds: readonly string[]): Promise<NewPoints[]> {
    for (const runId of this.#told.keys()) if (!runIds.includes(runId)) this.#told.delete(runId)
    const found = await Promise.all(runIds.map(runId => this.#new(runId)))
    return found.filter(({ points }) => points.length > 0)
  }

  async #new(runId: string): Promise<NewPoints> {
    try {
      return {
        runId,
        points: await this.#runs.use(runId, async ({ index: { series } }) => {
          const end = (await series.range())?.tickEnd ?? -1
          const told = this.#told.get(runId)
          this.#told.set(runId, end)
          if (told === undefined || end <= told) return []
          return await series.read({ from: told + 1, to: end, points: MOST_NEW_POINTS })
        }),
      }
    } catch (error) {
      // The run may have been removed, or never existed. Opening it reports that.
      this.#logger.debug({ err: error, runId }, 'the series of a run could not be read')
      return { runId, points: [] }
    }
  }
}
