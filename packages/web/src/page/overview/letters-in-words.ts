import type { ErrorKinds } from '../dead-letters/letter-shapes.ts'
import type { Attention } from '../shapes.ts'

/** "orders / email has 3 dead letters “SmtpError: mailbox full”", where all of them have failed in the same way. */
export function textOf({ kind, topic, group, text }: Attention, kinds: ErrorKinds | undefined): string {
  if (kind !== 'dead-letters' || kinds === undefined || !kinds.complete || kinds.omitted > 0) return text
  const theirs = kinds.errors.filter(each => each.topic === topic && each.group === (group ?? ''))
  const [only] = theirs
  return only !== undefined && theirs.length === 1 ? `${text} “${only.error}”` : text
}
