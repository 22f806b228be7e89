import { applyChanges } from './changes.ts'
import type { PackedFrame } from './packer.ts'
import { blankFrame, type Frame } from './plane.ts'

/** Ticks that were packed one after the other: each needs those before it. */
type Series = { readonly frames: PackedFrame[]; bytes: number }
type Place = { readonly series: Series; readonly index: number }

/** Packed ticks up to a number of bytes. The series that was used the longest time ago goes first. */
export class FrameStore {
  readonly #mostBytes: number
  /** In the order of their last use. */
  readonly #series = new Set<Series>()
  readonly #places = new Map<number, Place>()
  /** The series that is still being packed: it stays. */
  #open: Series | undefined
  #unpacked: (Place & { readonly frame: Frame }) | undefined
  #spare: Frame | undefined
  #bytes = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  get ticks(): number {
    return this.#places.size
  }

  has = (tick: number): boolean => this.#places.has(tick)

  /** In the order in which they were packed. */
  add(packed: PackedFrame): void {
    if (this.#open === undefined || packed.isStart) {
      this.#open = { frames: [], bytes: 0 }
      this.#series.add(this.#open)
    }
    const series = this.#open
    this.#places.set(packed.tick, { series, index: series.frames.length })
    series.frames.push(packed)
    series.bytes += packed.changes.byteLength
    this.#bytes += packed.changes.byteLength
    this.#makeRoom()
  }

  /**
   * A tick, in one of two memories that take turns: it is written over when two other ticks have been asked for. With a
   * memory for each tick, a second of playing left more garbage than all that is kept.
   */
  get(tick: number): Frame | undefined {
    const place = this.#places.get(tick)
    if (place === undefined) return undefined
    const { series, index } = place
    this.#series.delete(series)
    this.#series.add(series)
    const last = this.#unpacked
    if (last?.series === series && last.index === index) return last.frame
    const goesOn = last?.series === series && last.index < index
    const { width, height } = series.frames[index] as PackedFrame
    const frame = blankFrame(tick, width, height, this.#spare)
    if (goesOn) copy(last.frame, frame)
    for (let each = goesOn ? last.index + 1 : 0; each <= index; each++)
      applyChanges(frame, (series.frames[each] as PackedFrame).changes)
    this.#spare = last?.frame
    this.#unpacked = { series, index, frame }
    return frame
  }

  clear(): void {
    this.#series.clear()
    this.#places.clear()
    this.#open = undefined
    this.#unpacked = undefined
    this.#spare = undefined
    this.#bytes = 0
  }

  #makeRoom(): void {
    for (const series of this.#series) {
      if (this.#bytes <= this.#mostBytes) return
      if (series === this.#open) continue
      this.#series.delete(series)
      this.#bytes -= series.bytes
      for (const { tick } of series.frames) if (this.#places.get(tick)?.series === series) this.#places.delete(tick)
    }
  }
}

function copy(from: Frame, to: Frame): void {
  to.type.set(from.type)
  to.value.set(from.value)
  to.owner.set(from.owner)
}
