type Column = readonly (number | null)[]

/** While nobody watches, the server looks once in ten seconds. */
const MOST = 10

/** A straight line over gaps that are no longer than the time between two looks; longer ones stay gaps. */
export function bridged(values: Column): Column {
  const filled = [...values]
  let last = -1
  for (const [index, value] of values.entries()) {
    if (value === null) continue
    const before = values[last] ?? null
    const gap = index - last
    if (before !== null && gap > 1 && gap <= MOST)
      for (let at = last + 1; at < index; at++) filled[at] = before + ((value - before) * (at - last)) / gap
    last = index
  }
  return filled
}
