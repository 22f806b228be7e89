import { TidemarkError } from 'tidemark'

/** Somebody works on the run: what is removed under them would come back in parts, or be missed by them. */
export class RunInUseError extends TidemarkError {
  readonly runId: string
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
