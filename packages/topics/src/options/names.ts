import { InvalidNameError } from '../errors.ts'

const NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/i
// A namespace becomes part of a file name, and some file systems fold case.
const NAMESPACE = /^[a-z0-9][a-z0-9._-]{0,127}$/

/** Names are used in SQL and file names only after this check. */
export function checkName(kind: 'topic' | 'group' | 'consumer', value: unknown): string {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw new InvalidNameError(kind, value, "use 1 to 128 letters, digits, '.', '_' or '-', the first a letter or digit")
}

export function checkNamespace(value: unknown): string {
  if (typeof value === 'string' && NAMESPACE.test(value)) return value
  throw new InvalidNameError(
    'namespace',
    value,
    "use 1 to 128 lower-case letters, digits, '.', '_' or '-', the first a letter or digit",
  )
}
