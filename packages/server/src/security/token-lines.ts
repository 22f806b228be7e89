import { ConfigError } from 'tidemark'
import { type Grant, grantText, parseGrants } from './roles.ts'
import type { Token } from './token.ts'

const HASH = /^sha256:([0-9a-f]{64})$/
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/
const FIELDS = ['name', 'hash', 'roles', 'expires']

/**
 * One token per line, as JSON; empty lines and lines that begin with # are ignored:
 *
 *     {"name":"shop","hash":"sha256:…","roles":["publish:orders.","read"],"expires":"2027-01-01T00:00:00Z"}
 *
 * Errors name the line but never quote it: somebody may have put the token itself there.
 *
 * @example
 * const tokens = parseTokenLines('tokens.jsonl', await readFile('tokens.jsonl', 'utf8'))
 */
export function parseTokenLines(path: string, text: string): readonly Token[] {
  const tokens: Token[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const token = parseLine(`${path}, line ${index + 1}`, line)
    const twin = tokens.find(({ name, hash }) => name === token.name || hash.equals(token.hash))
    if (twin) throw new ConfigError(`${path}, line ${index + 1}`, '(hidden)', 'a name and a token of its own')
    tokens.push(token)
  }
  if (tokens.length === 0) {
    throw new ConfigError(path, '(no tokens)', "at least one token. 'tidemark token create' makes one")
  }
  return tokens
}

function parseLine(place: string, line: string): Token {
  const fields = objectOf(place, line)
  const unknown = Object.keys(fields).find(name => !FIELDS.includes(name))
  if (unknown !== undefined) throw new ConfigError(place, '(hidden)', `only the fields ${FIELDS.join(', ')}`)
  const { name, hash, roles, expires } = fields
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new ConfigError(`${place}, name`, '(hidden)', 'up to 64 letters, digits and ._@-')
  }
  const [, hex] = HASH.exec(String(hash)) ?? []
  if (hex === undefined) {
    throw new ConfigError(`${place}, hash`, '(hidden)', "'sha256:' and 64 hexadecimal digits, never the token itself")
  }
  return {
    name,
    hash: Buffer.from(hex, 'hex'),
    grants: grantsOf(`${place}, roles`, roles),
    expiresAt: expires === undefined || expires === null ? null : timeOf(`${place}, expires`, expires),
  }
}

function grantsOf(place: string, roles: unknown): readonly Grant[] {
  try {
    return parseGrants(place, roles)
  } catch (error) {
    throw error instanceof ConfigError ? new ConfigError(place, '(hidden)', error.allowed) : error
  }
}

function objectOf(place: string, line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Reported below, without the text that JSON.parse would quote.
  }
  throw new ConfigError(place, '(hidden)', 'a JSON object: {"name":…,"hash":"sha256:…","roles":[…]}')
}

function timeOf(place: string, value: unknown): number {
  const time = typeof value === 'string' && TIME.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw new ConfigError(place, '(hidden)', 'a time with its zone, such as 2027-01-01T00:00:00Z')
  return time
}

/**
 * Line of a token file.
 *
 * @example
 * const line = tokenLine({ name: 'shop', hash: hashOf(makeToken()), grants: parseGrants('roles', ['read']), expiresAt: null })
 */
export const tokenLine = ({ name, hash, grants, expiresAt }: Token): string =>
  JSON.stringify({
    name,
    hash: `sha256:${hash.toString('hex')}`,
    roles: grants.flatMap(grantText),
    ...(expiresAt !== null && { expires: new Date(expiresAt).toISOString() }),
  })
