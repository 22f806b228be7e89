import { CodedError } from 'tidemark'

/** Optional packages that commands need. */
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

/** Undefined if an error has another reason. */
export function missingPackage(error: unknown): MissingPackageError | undefined {
  const { code } = error as NodeJS.ErrnoException
  if (!(error instanceof Error) || code !== 'ERR_MODULE_NOT_FOUND') return undefined
  // Node names the missing package only in the message. A dependency missing from one of our own packages is another
  // matter.
  const [, name = ''] = /^Cannot find package '([^']+)'/.exec(error.message) ?? []
  const install = INSTALL[name]
  return install === undefined ? undefined : new MissingPackageError(name, install, error)
}
