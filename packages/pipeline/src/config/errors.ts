import { CodedError } from 'tidemark'

/** A configuration file can't be used: it is missing, throws, or exports the wrong value. */
export class ConfigFileError extends CodedError {
  /** Path of the file. */
  readonly file: string
  /** The message without the path. */
  readonly problem: string

  constructor(file: string, problem: string, cause?: unknown) {
    super('TIDEMARK_CONFIG_FILE', `${file}: ${problem}`, cause)
    this.file = file
    this.problem = problem
  }
}

/** A module does not export a service type. */
export class ServiceTypeError extends CodedError {
  /** Path of the module. */
  readonly module: string

  constructor(module: string, problem: string, cause?: unknown) {
    super('TIDEMARK_SERVICE_TYPE', `Service type ${module}: ${problem}`, cause)
    this.module = module
  }
}

/** A module does not export an environment strategy. */
export class StrategyError extends CodedError {
  /** Path of the module. */
  readonly module: string

  constructor(module: string, problem: string, cause?: unknown) {
    super('TIDEMARK_STRATEGY', `Environment strategy ${module}: ${problem}`, cause)
    this.module = module
  }
}
