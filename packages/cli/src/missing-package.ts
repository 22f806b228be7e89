import { CodedError } from 'tidemark'

/** What a command needs of the packages that this one can be installed without. */
const INSTALL: { readonly [name: string]: string } = {
  '@tidemark/pipeline':
    'npm install @tidemark/server for the pipeline with its HTTP server, or npm install @tidemark/pipeline without it',
  '@tidemark/server': 'npm install @tidemark/server',
}

/** A package that this command needs is not installed. */
export class MissingPackageError extends CodedError {
  constructor(name: string, install: string, cause: unknown) {
    super(
      'TIDEMARK_MISSING_PACKAGE',
      `This command requires the package '${name}', which is not installed. Run: ${install} ` +
        '(with --global if tidemark is installed globally)',
      cause,
    )
  }
}

/** Undefined where an error has another reason. */
export function missingPackage(error: unknown): MissingPackageError | undefined {
  const { code } = error as NodeJS.ErrnoException
  if (!(error instanceof Error) || code !== 'ERR_MODULE_NOT_FOUND') return undefined
  // Node says which package only in words. What a package of ours itself misses is another matter.
  const [, name = ''] = /^Cannot find package '([^']+)'/.exec(error.message) ?? []
  const install = INSTALL[name]
  return install === undefined ? undefined : new MissingPackageError(name, install, error)
}
