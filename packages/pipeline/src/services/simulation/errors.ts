import { TidemarkError } from 'tidemark'

/** A run that can't be begun or can't go on. */
export class SimulationRunError extends TidemarkError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_SIMULATION_RUN', message, cause)
  }
}
