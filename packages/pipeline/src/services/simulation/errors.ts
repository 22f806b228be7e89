import { CodedError } from 'tidemark'

/** A run can't be started or continued. */
export class SimulationRunError extends CodedError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_SIMULATION_RUN', message, cause)
  }
}
