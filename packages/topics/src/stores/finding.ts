/** Result of a check. */
export type Finding = {
  /** Name of the check, such as `server version`. */
  readonly check: string
  /** Severity of the finding. */
  readonly state: 'ok' | 'warn' | 'bad'
  /** What was found. */
  readonly found: string
  /** What to do about it, or null. */
  readonly advice: string | null
}

export const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found, advice: null })
export const warn = (check: string, found: string, advice: string): Finding => ({ check, state: 'warn', found, advice })
export const bad = (check: string, found: string, advice: string): Finding => ({ check, state: 'bad', found, advice })

/** The schema's version, compared with the newest that this code knows. */
export function schemaFinding(found: number, newest: number): Finding {
  if (found === newest) return ok('schema version', `${found}, the newest`)
  if (found === 0) return warn('schema version', 'there is no namespace here yet', "make it with 'tidemark migrate'")
  if (found < newest)
    return warn('schema version', `${found} of ${newest}`, "bring it up to date with 'tidemark migrate'")
  return bad('schema version', `${found}, and this Tidemark knows ${newest}`, 'update this Tidemark')
}

export const preReleaseFinding = (): Finding =>
  bad(
    'schema version',
    'the namespace was made by a pre-release of Tidemark',
    'drop it if its messages are not needed, or use another namespace',
  )
