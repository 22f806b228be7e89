import { type NearestTicks, TickRemovedError } from '@tidemark/pipeline'

/** Ticks `from`, `from + step`, … up to `to`; at most `most` of them. */
export type FrameRange = {
  readonly from: number
  readonly to: number
  readonly step: number
  /** Minimum distance between two indexed ticks. */
  readonly interval: number
  readonly most: number
}

export type FrameStep<T> =
  | { readonly kind: 'frame'; readonly tick: number; readonly found: T }
  /** Ticks from the one to the other are missing. */
  | { readonly kind: 'gap'; readonly tick: number; readonly last: number }
  /** Where to continue. */
  | { readonly kind: 'end'; readonly tick: number }

type Reading<T> = {
  /** null: the tick is not indexed. */
  read(tick: number): Promise<T | null>
  nearest(tick: number): Promise<NearestTicks>
  /** Ticks read concurrently. */
  readonly ahead: number
}

/** Reads ahead, so that threads have work while the reader receives a frame; a gap of any length is skipped at once. */
export async function* frameSteps<T>(
  { from, to, step, interval, most }: FrameRange,
  { read, nearest, ahead }: Reading<T>,
): AsyncGenerator<FrameStep<T>, void, undefined> {
  let waiting: { readonly tick: number; readonly found: Promise<T | null> }[] = []
  let next = from
  for (let sent = 0; sent < most; ) {
    for (; waiting.length < ahead && next <= to; next += step) {
      const found = orMissing(read(next))
      found.catch(() => undefined) // Whoever takes it hears of it; nobody may.
      waiting.push({ tick: next, found })
    }
    const first = waiting.shift()
    if (first === undefined) break
    const { tick } = first
    const found = await first.found
    if (found !== null) {
      sent++
      yield { kind: 'frame', tick, found }
      continue
    }
    const { after } = await nearest(tick)
    if (after === null || after > to) {
      if (after !== null) yield { kind: 'gap', tick, last: lastBefore(Math.min(after, to + interval), tick, interval) }
      yield { kind: 'end', tick: after === null ? tick : from + Math.ceil((after - from) / step) * step }
      return
    }
    yield { kind: 'gap', tick, last: lastBefore(after, tick, interval) }
    const resume = from + Math.ceil((after - from) / step) * step
    waiting = waiting.filter(each => each.tick >= resume)
    if (waiting.length === 0) next = resume
  }
  yield { kind: 'end', tick: waiting[0]?.tick ?? next }
}

/** Ticks removed on purpose are as missing as those that never arrived. */
async function orMissing<T>(reading: Promise<T | null>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof TickRemovedError) return null
    throw error
  }
}

const lastBefore = (after: number, tick: number, interval: number): number =>
  tick + Math.max(0, Math.ceil((after - tick) / interval) - 1) * interval
