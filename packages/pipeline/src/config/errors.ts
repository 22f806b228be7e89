import { TidemarkError } from 'tidemark'

/** A configuration file that can't be used: not there, it throws, or what it exports is wrong. */
export class ConfigFileError extends TidemarkError {
  readonly file: string
  /** The message without the file. */
  readonly problem: string

  constructor(file: string, problem: string, cause?: unknown) {
    super('TIDEMARK_CONFIG_FILE', `${file}: ${problem}`, cause)
    this.file = file
    this.problem = problem
  }
}

/** A module of the user's own that was to give a service type and does not. */
export class ServiceTypeError extends TidemarkError {
  readonly module: string

  constructor(module: string, problem: string, cause?: unknown) {
    super('TIDEMARK_SERVICE_TYPE', `Service type ${module}: ${problem}`, cause)
    this.module = module
  }
}

/** A module of the user's own that was to give an environment strategy and does not. */
export class StrategyError extends TidemarkError {
  readonly module: string

  constructor(module: string, problem: string, cause?: unknown) {
    super('TIDEMARK_STRATEGY', `Environment strategy ${module}: ${problem}`, cause)
    this.module = module
  }
}
