import { CodedError } from 'tidemark'
import type { WrittenAs } from '../databases/written-as.ts'

/** Invalid shape or topology, or a cell outside the world. */
export class EnvironmentError extends Error {
  /** Stable code of the error. */
  readonly code = 'TIDEMARK_ENVIRONMENT'

  constructor(message: string) {
    super(message)
    this.name = 'EnvironmentError'
  }
}

/** Ticks were written with a strategy that this reader was not given. */
export class StrategyMissingError extends CodedError {
  /** Name of the strategy. */
  readonly strategy: string
  /** Settings of the strategy. */
  readonly settings: string

  constructor(runId: string, { strategy, settings, tickStart, tickEnd }: WrittenAs) {
    const how = settings === '{}' ? `'${strategy}'` : `'${strategy}' with the settings ${settings}`
    super(
      'TIDEMARK_STRATEGY_MISSING',
      `Ticks ${tickStart} to ${tickEnd} of run ${runId} were written by the environment strategy ${how}, which this reader ` +
        'does not have. Start it with that strategy too',
    )
    this.strategy = strategy
    this.settings = settings
  }
}
