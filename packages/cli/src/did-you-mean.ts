/** The known word that is closest to a mistyped one, unless they have little in common. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map(each => ({ each, distance: each.startsWith(word) && word.length > 1 ? 1 : distanceOf(word, each) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.each : undefined
}

export function didYouMean(word: string, known: readonly string[]): string {
  const suggestion = nearest(word, known)
  return suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`
}

/** Number of letters to insert, delete, replace, or swap with their neighbour. */
function distanceOf(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= to.length; j++) {
      const changed = at(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1] ? at(i - 2, j - 2) + 1 : changed
      row.push(Math.min(at(i - 1, j) + 1, (row[j - 1] ?? 0) + 1, changed, swapped))
    }
  }
  return at(from.length, to.length)
}
