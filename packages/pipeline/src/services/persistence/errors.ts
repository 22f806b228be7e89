import { CodedError } from 'tidemark'

/** A batch contains ticks of several runs. All of them are dead-lettered. */
export class MixedRunsError extends CodedError {
  /** Ids of the runs. */
  readonly runIds: readonly string[]

  constructor(runIds: readonly string[], ticks: number) {
    super(
      'TIDEMARK_MIXED_RUNS',
      `A batch of ${ticks} ticks contains several runs (${runIds.slice(0, 3).join(', ')}${runIds.length > 3 ? ', …' : ''}), so ` +
        'nothing of it was stored. Give each run its own queue, and redrive the dead letters',
    )
    this.runIds = runIds
  }
}

/** Neither the storage nor the dead-letter topic accepted the data, so the service stopped. */
export class NotStoredError extends CodedError {
  constructor(what: string, cause: unknown) {
    super(
      'TIDEMARK_NOT_STORED',
      `${what} could be written neither to the storage nor to the dead letters before the service stopped, and is lost. ` +
        'Free space or repair what failed, then send it again from the source',
      cause,
    )
  }
}
