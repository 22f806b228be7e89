import { reasonOf } from './failure.ts'
import { TidemarkError } from './tidemark-error.ts'

/** A package that only some programs need is missing, too old or can't be loaded. */
export class PackageRequiredError extends TidemarkError {
  /** Always `'TIDEMARK_PACKAGE_REQUIRED'`. */
  declare readonly code: 'TIDEMARK_PACKAGE_REQUIRED'
  /** Name of the package. */
  readonly package: string
  /** Versions of it that can be used, as npm writes a range. */
  readonly versions: string

  private constructor(message: string, name: string, versions: string, cause?: unknown) {
    super('TIDEMARK_PACKAGE_REQUIRED', `${message}. Run: npm install ${name}@${versions}`, cause)
    this.package = name
    this.versions = versions
  }

  /** `what` begins the sentence: 'A postgres:// address'. */
  static missing(what: string, name: string, versions: string, cause: unknown): PackageRequiredError {
    const message = `${what} requires the package '${name}', which can't be loaded: ${firstLine(reasonOf(cause))}`
    return new PackageRequiredError(message, name, versions, cause)
  }

  static tooOld(what: string, name: string, versions: string): PackageRequiredError {
    const message = `${what} requires the package '${name}' ${versions}, and an older one is installed`
    return new PackageRequiredError(message, name, versions)
  }
}

/** Node and bundlers append their import stacks. */
const firstLine = (text: string): string => text.split('\n', 1)[0]?.replace(/\.$/, '') ?? ''
