/** Marks on the same pixels are merged, with their number. */
export function gathered(
  ids: readonly number[],
  xOf: (id: number) => number,
  width: number,
  apart = 5,
): readonly { readonly x: number; readonly ids: readonly number[] }[] {
  const marks: { x: number; ids: number[] }[] = []
  for (const id of ids.toSorted((one, other) => one - other)) {
    const x = xOf(id) * width
    const before = marks.at(-1)
    if (before !== undefined && x - before.x < apart) before.ids.push(id)
    else marks.push({ x, ids: [id] })
  }
  return marks
}
