/** " Did you mean '…'?" if one of the existing names is similar; otherwise nothing. */
export function didYouMean(name: string, names: readonly string[]): string {
  const near = [...new Set(names)].find(other => other !== name && isNear(name, other))
  return near === undefined ? '' : ` Did you mean '${near}'?`
}

/** One letter added, removed or changed, two swapped, or a prefix. */
function isNear(one: string, other: string): boolean {
  if (Math.min(one.length, other.length) < 3) return false
  if (other.startsWith(one) || one.startsWith(other)) return true
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  if (long.length - short.length > 1) return false
  let at = 0
  while (at < short.length && short[at] === long[at]) at++
  if (short.length < long.length) return long.slice(at + 1) === short.slice(at)
  const isSwapped =
    short[at] === long[at + 1] && short[at + 1] === long[at] && short.slice(at + 2) === long.slice(at + 2)
  return isSwapped || long.slice(at + 1) === short.slice(at + 1)
}
