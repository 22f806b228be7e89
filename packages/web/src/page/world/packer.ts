import { changesOf, shareOfChanges } from './changes.ts'
import type { Frame } from './plane.ts'

/** A tick as the changes to the tick that was packed before it, or to an empty world, which begins a series. */
export type PackedFrame = {
  readonly tick: number
  readonly width: number
  readonly height: number
  readonly isStart: boolean
  readonly changes: Uint8Array<ArrayBuffer>
}

/** A tick in the middle of a series is made of all before it, which takes 2 ms each in a world of 1000 × 1000. */
const MOST_IN_A_SERIES = 16
/** Changes that take more of a whole tick than this are not worth it: somebody has gone far away in the run. */
const MOST_OF_A_WHOLE = 0.7

/** Packs ticks in the order in which they are decoded. It runs in the worker. */
export class FramePacker {
  #before: Frame | undefined
  #spare: Frame | undefined
  #length = 0
  #startBytes = 0

  /** `decode` may use the memory of a frame that is not needed any more: 9 MB for every tick would be more garbage than is collected. */
  pack(decode: (over: Frame | undefined) => Frame): PackedFrame {
    const frame = decode(this.#spare)
    this.#spare = this.#before
    return this.#pack(frame)
  }

  #pack(frame: Frame): PackedFrame {
    const { tick, width, height } = frame
    const changes = this.#changesSince(frame)
    this.#before = frame
    if (changes !== undefined) {
      this.#length++
      return { tick, width, height, isStart: false, changes }
    }
    const whole = changesOf(undefined, frame)
    this.#length = 1
    this.#startBytes = whole.length
    return { tick, width, height, isStart: true, changes: whole }
  }

  #changesSince(frame: Frame): Uint8Array<ArrayBuffer> | undefined {
    const before = this.#before
    if (before === undefined || this.#length >= MOST_IN_A_SERIES) return undefined
    if (before.width !== frame.width || before.height !== frame.height) return undefined
    // Both are written for the same price, so that of a tick from far away only the whole one should be.
    if (shareOfChanges(before, frame) > MOST_OF_A_WHOLE) return undefined
    const changes = changesOf(before, frame)
    return changes.length <= this.#startBytes * MOST_OF_A_WHOLE ? changes : undefined
  }
}
