import { type BigIntStats, closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { ConfigError, type Logger } from 'tidemark'
import { refuseTwins, type Token } from './token.ts'
import { parseTokenLines } from './token-lines.ts'

const LARGEST = 16n * 1024n * 1024n
const WRITABLE_BY_OTHERS = 0o022n

/**
 * Tokens of a file, which is read again when it changes. If a change can't be read the tokens stay as they were, so
 * that a typo does not lock everybody out; it is logged as an error until it is fixed.
 */
export class TokenFile {
  readonly #path: string
  readonly #logger: Logger
  readonly #others: readonly Token[]
  #tokens: readonly Token[]
  #seen: string

  /** Throws a ConfigError if it can't be read, is empty, is writable by others, or repeats one of the `others`. */
  constructor(path: string, logger: Logger, others: readonly Token[] = []) {
    this.#path = path
    this.#logger = logger
    this.#others = others
    const { tokens, mark } = this.#read()
    this.#tokens = tokens
    this.#seen = mark
  }

  get tokens(): readonly Token[] {
    return this.#tokens
  }

  /** True if the tokens have changed. */
  async refresh(): Promise<boolean> {
    const mark = await stat(this.#path, { bigint: true }).then(
      markOf,
      (error: NodeJS.ErrnoException) => `${error.code}`,
    )
    if (mark === this.#seen) return false
    this.#seen = mark
    try {
      const read = this.#read()
      this.#tokens = read.tokens
      this.#seen = read.mark
      this.#logger.info({ file: this.#path, tokens: read.tokens.map(({ name }) => name) }, 'tokens were read again')
      return true
    } catch (error) {
      this.#logger.error(
        { err: error, file: this.#path },
        'the token file cannot be used: the tokens stay as they were',
      )
      return false
    }
  }

  #read(): { readonly tokens: readonly Token[]; readonly mark: string } {
    const path = this.#path
    let file: number
    try {
      // A named pipe in its place would otherwise block the whole server.
      file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    } catch (error) {
      throw new ConfigError('server.tokenFile', path, `a file that can be read (${(error as Error).message})`)
    }
    try {
      const stats = fstatSync(file, { bigint: true })
      if (!stats.isFile()) throw new ConfigError('server.tokenFile', path, 'a file')
      if (stats.size > LARGEST) throw new ConfigError('server.tokenFile', path, `a file of at most ${LARGEST} bytes`)
      if (process.platform !== 'win32' && (stats.mode & WRITABLE_BY_OTHERS) !== 0n) {
        throw new ConfigError('server.tokenFile', path, 'a file that only its owner can write to: chmod go-w')
      }
      const tokens = parseTokenLines(path, readFileSync(file, 'utf8'))
      refuseTwins([...this.#others, ...tokens])
      return { tokens, mark: markOf(stats) }
    } finally {
      closeSync(file)
    }
  }
}

/** Changes with every write and every replacement, even within a second. */
const markOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(' ')
