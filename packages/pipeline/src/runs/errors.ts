import { CodedError } from 'tidemark'

/** The run can't be removed because it is in use. */
export class RunInUseError extends CodedError {
  /** Id of the run. */
  readonly runId: string
  /** Who uses it. */
  readonly reasons: readonly string[]

  constructor(runId: string, reasons: readonly string[]) {
    super(
      'TIDEMARK_RUN_IN_USE',
      `Run ${runId} is in use: ${reasons.join('; ')}. Nothing was removed. Stop its users first`,
    )
    this.runId = runId
    this.reasons = reasons
  }
}
