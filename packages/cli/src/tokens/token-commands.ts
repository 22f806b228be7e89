import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { type Grant, hashOf, makeToken, parseGrants, parseTokenLines, type Token, tokenLine } from '@tidemark/server'
import { type Duration, parseDuration } from 'tidemark'
import type { Surroundings } from '../command.ts'
import { NotFoundError, UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { table } from '../output/table.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/

export async function createToken(given: Given, { output }: Surroundings): Promise<ExitCode> {
  const name = given.argument('name')
  if (!NAME.test(name)) throw new UsageError('A token name must have 1 to 64 letters, digits and ._@-')
  const grants = grantsOf(given.texts('role'))
  const expiresAt = expiryOf(given.text('expires'))
  const file = given.text('file')
  const secret = makeToken()
  const line = tokenLine({ name, hash: hashOf(secret), grants, expiresAt })
  if (file !== undefined) addLine(file, name, line)
  output.result({ name, token: secret, line, file: file ?? null }, () =>
    file === undefined ? [secret, line] : [secret],
  )
  if (output.json) return EXIT.done
  output.note(
    file === undefined
      ? 'The first line is the token and is not shown again; add the second to the token file of the server.'
      : `Added '${name}' to ${file}. The token is not shown again.`,
  )
  return EXIT.done
}

export async function listTokens(given: Given, { output }: Surroundings): Promise<ExitCode> {
  const file = fileOf(given)
  const tokens = parseTokenLines(file, readFile(file)).map(({ name, grants, expiresAt }) => ({
    name,
    roles: grants.flatMap(roleTexts),
    expires: expiresAt === null ? null : new Date(expiresAt),
    expired: expiresAt !== null && expiresAt <= Date.now(),
  }))
  output.result({ tokens }, () =>
    table(
      ['name', 'roles', 'expires'],
      tokens.map(({ name, roles, expires, expired }) => [
        name,
        roles.join(' '),
        expires === null ? 'never' : `${expires.toISOString()}${expired ? ' (expired)' : ''}`,
      ]),
    ),
  )
  return EXIT.done
}

export async function revokeToken(given: Given, { output }: Surroundings): Promise<ExitCode> {
  const file = fileOf(given)
  const name = given.argument('name')
  const text = readFile(file)
  const tokens = parseTokenLines(file, text)
  if (!tokens.some(token => token.name === name)) throw new NotFoundError(`There is no token '${name}' in ${file}`)
  if (tokens.length === 1) {
    throw new UsageError(
      `'${name}' is the only token of ${file}, and a server refuses an empty file. Create another first`,
    )
  }
  replace(
    file,
    text
      .split('\n')
      .filter(line => !isOf(line, name))
      .join('\n'),
  )
  output.result({ revoked: name, file }, () => [`Removed '${name}' from ${file}`])
  return EXIT.done
}

function grantsOf(roles: readonly string[]): readonly Grant[] {
  if (roles.length === 0)
    throw new UsageError('Give at least one --role: read, metrics, publish, consume, operate or admin')
  return parseGrants('--role', roles)
}

function expiryOf(text: string | undefined): number | null {
  if (text === undefined) return null
  if (!/^\d{4}-/.test(text)) return Date.now() + parseDuration('--expires', text as Duration, { min: 1 })
  const time = Date.parse(text)
  if (!Number.isNaN(time) && time > Date.now()) return time
  throw new UsageError(
    `--expires must be a lifetime such as 90d or a future time such as 2027-01-01T00:00:00Z, not '${text}'`,
  )
}

/** The whole file is validated with the new line before anything is written. */
function addLine(file: string, name: string, line: string): void {
  const before = existsSync(file) ? readFile(file) : ''
  const lines = before === '' || before.endsWith('\n') ? before : `${before}\n`
  const known = /^[^#\s]/m.test(before) ? parseTokenLines(file, before) : []
  if (known.some(token => token.name === name)) {
    throw new UsageError(`${file} has a token '${name}' already. Choose another name, or revoke it first`)
  }
  replace(file, `${lines}${line}\n`)
}

/** Atomic: a server that reads it meanwhile sees the old file or the new one. */
function replace(file: string, text: string): void {
  const target = existsSync(file) ? realpathSync(file) : file
  const next = nextTo(target)
  try {
    writeFileSync(next, text, { mode: 0o600, flag: 'wx' })
    renameSync(next, target)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Two commands that read the same file would each write it without the other's token.
    if (code === 'EEXIST') throw new UsageError(`Another command is changing ${file}. If none is, remove ${next}`)
    throw new UsageError(`The token file ${file} can't be written: ${message}`)
  }
}

const nextTo = (file: string): string => `${file}.new`

function fileOf(given: Given): string {
  const file = given.text('file')
  if (file === undefined) throw new UsageError('No token file given. Use --file <file>')
  return file
}

function readFile(file: string): string {
  if (!existsSync(file)) throw new NotFoundError(`There is no file ${file}`)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`The token file ${file} can't be read: ${(error as Error).message}`)
  }
}

function isOf(line: string, name: string): boolean {
  return /^\s*\{/.test(line) && (JSON.parse(line) as { name?: unknown }).name === name
}

const roleTexts = ({ role, topics }: Token['grants'][number]): string[] =>
  topics === null ? [role] : topics.map(prefix => `${role}:${prefix}`)
