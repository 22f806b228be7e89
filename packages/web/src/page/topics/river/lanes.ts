import type { Bucket } from './scale.ts'

export type Lease = {
  readonly from: number
  readonly to: number
  readonly consumer: string
  readonly until: string | null
  readonly attempt: number
}

/** What a lane draws of its group. */
export type LaneFacts = {
  readonly group: string
  readonly cursor: number
  readonly watermark: number
  readonly leases: readonly Lease[]
  readonly retries: readonly { readonly id: number; readonly due: string; readonly attempt: number }[]
  readonly deadLetters: readonly number[]
}

export type Lanes = {
  readonly first: number | null
  readonly last: number | null
  readonly buckets: readonly Bucket[]
  readonly groups: readonly LaneFacts[]
}

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
