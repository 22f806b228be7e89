/** A shape or topology that is not one, or a cell outside the world. */
export class EnvironmentError extends Error {
  readonly code = 'TIDEMARK_ENVIRONMENT'

  constructor(message: string) {
    super(message)
    this.name = 'EnvironmentError'
  }
}
