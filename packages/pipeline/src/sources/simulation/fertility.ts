import type { EnvironmentProperties } from '../../environment/properties.ts'
import type { Random } from './random.ts'

/** Two passes of a box blur give rounded patches; one gives squares. */
const PASSES = 2
const LARGEST = 255
const BINS = 65_536

/**
 * A map of smooth patches, 0 (barren) to 255: random numbers, blurred along each dimension, ranked. Integers only, so
 * that every machine has the same land.
 */
export function fertileLand(properties: EnvironmentProperties, random: Random): Uint8Array {
  let field = new Int32Array(properties.size)
  for (let cell = 0; cell < field.length; cell++) field[cell] = random.next() >>> 10
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [axis, length] of properties.shape.entries()) {
      field = blurred(field, properties.strides[axis] as number, length, properties.isTorus)
    }
  }
  return ranked(field)
}

/** The sliding mean along one axis. A patch is about a tenth of the world, so that a few fit at any size. */
function blurred(field: Int32Array, stride: number, length: number, isTorus: boolean): Int32Array<ArrayBuffer> {
  const radius = Math.min(Math.max(1, Math.floor(length / 16)), Math.floor((length - 1) / 2))
  const result = new Int32Array(field.length)
  const width = 2 * radius + 1
  const at = (line: number, place: number): number => {
    const inside = isTorus ? (place + length) % length : Math.max(0, Math.min(length - 1, place))
    return field[line + inside * stride] as number
  }
  for (let start = 0; start < field.length; start++) {
    if (Math.floor(start / stride) % length !== 0) continue
    let sum = 0
    for (let place = -radius; place <= radius; place++) sum += at(start, place)
    for (let place = 0; place < length; place++) {
      result[start + place * stride] = Math.floor(sum / width)
      sum += at(start, place + radius + 1) - at(start, place - radius)
    }
  }
  return result
}

/** Fertility by rank, not by value: then the same fraction of every world is barren, whatever its shape and seed. */
function ranked(field: Int32Array): Uint8Array {
  let lowest = field[0] as number
  let highest = lowest
  for (const height of field) {
    if (height < lowest) lowest = height
    if (height > highest) highest = height
  }
  const binOf = (height: number): number => Math.floor(((height - lowest) * (BINS - 1)) / Math.max(1, highest - lowest))
  const upTo = new Int32Array(BINS)
  for (const height of field) upTo[binOf(height)] = (upTo[binOf(height)] as number) + 1
  for (let bin = 1; bin < BINS; bin++) upTo[bin] = (upTo[bin] as number) + (upTo[bin - 1] as number)
  return Uint8Array.from(field, height => Math.floor(((upTo[binOf(height)] as number) * LARGEST) / field.length))
}
