import { idOf } from '../entry.ts'

/**
 * Messages of a page of the log: from a place of an entry to another (exclusive), and as many of so many entries after
 * it. Entries of one message each, which single publishes write, are thus one segment.
 */
export type Segment = readonly [seq: number, from: number, to: number, repeat: number, stride: number]

/** Appends the messages of an entry; merges them with the last segment where they continue its pattern. */
export function addSegment(segments: Segment[], seq: number, from: number, to: number): void {
  const last = segments.at(-1)
  if (last !== undefined && last[1] === from && last[2] === to) {
    const [first, , , repeat, stride] = last
    const next = seq - first
    if (repeat === 1 || next === repeat * stride) {
      segments[segments.length - 1] = [first, from, to, repeat + 1, repeat === 1 ? next : stride]
      return
    }
  }
  segments.push([seq, from, to, 1, 0])
}

export const countSegments = (segments: readonly Segment[]): number =>
  segments.reduce((sum, [, from, to, repeat]) => sum + (to - from) * repeat, 0)

/** The ids in the order of the slots. */
export function idsOf(segments: readonly Segment[]): number[] {
  const ids: number[] = []
  for (const [seq, from, to, repeat, stride] of segments) {
    for (let entry = 0; entry < repeat; entry++) {
      for (let place = from; place < to; place++) ids.push(idOf(seq + entry * stride, place))
    }
  }
  return ids
}
