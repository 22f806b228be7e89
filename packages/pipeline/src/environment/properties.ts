import type { EnvironmentConfig } from '../contracts/tick.ts'
import { EnvironmentError } from './errors.ts'

/** Flat indexes are 32-bit integers. */
const MOST_CELLS = 2 ** 31 - 1
const MOST_DIMENSIONS = 16
export const NO_CELL = -1

/**
 * The geometry of a world of 1 to N dimensions: `flat = Σ coordinate[i] · stride[i]`, `stride[0] = 1`.
 *
 * Directions are numbered so that in two dimensions the next number is a quarter turn: 0 to N-1 lead up the axes, N to
 * 2N-1 lead down them. The opposite of d is therefore (d + N) mod 2N.
 */
export class EnvironmentProperties {
  /** Size of each dimension. */
  readonly shape: readonly number[]
  /** Distance in flat indexes between neighbours of each dimension. */
  readonly strides: readonly number[]
  /** Whether the world wraps around. */
  readonly isTorus: boolean
  /** Number of cells. */
  readonly size: number
  /** Number of dimensions. */
  readonly dimensions: number
  /** Number of directions. */
  readonly directions: number
  /** The same as typed arrays, for the loops. */
  readonly #shape: Int32Array
  readonly #strides: Int32Array

  constructor({ shape, topology }: EnvironmentConfig) {
    checkShape(shape)
    if (topology !== 'torus' && topology !== 'bounded') {
      throw new EnvironmentError(`topology is ${JSON.stringify(topology)}; allowed: 'torus' or 'bounded'`)
    }
    this.shape = Object.freeze([...shape])
    this.isTorus = topology === 'torus'
    this.dimensions = shape.length
    this.directions = 2 * shape.length
    this.#shape = Int32Array.from(shape)
    this.#strides = stridesOf(shape)
    this.strides = Object.freeze([...this.#strides])
    this.size = shape.reduce((product, length) => product * length, 1)
  }

  /** Converts coordinates to a flat index. */
  toFlat(coordinates: readonly number[]): number {
    if (coordinates.length !== this.dimensions) {
      throw new EnvironmentError(`[${coordinates}] has ${coordinates.length} coordinates, the world ${this.dimensions}`)
    }
    let flat = 0
    for (let axis = 0; axis < this.dimensions; axis++) {
      const coordinate = coordinates[axis] as number
      if (!Number.isInteger(coordinate) || coordinate < 0 || coordinate >= this.#length(axis)) {
        throw new EnvironmentError(`[${coordinates}] is outside the world of [${this.shape}]`)
      }
      flat += coordinate * this.#stride(axis)
    }
    return flat
  }

  /**
   * Converts a flat index to coordinates, from the last dimension down: dividing by stride[0] first would return the
   * flat index itself.
   */
  toCoordinates(flat: number): number[] {
    this.#checkFlat(flat)
    const coordinates = new Array<number>(this.dimensions)
    let rest = flat
    for (let axis = this.dimensions - 1; axis >= 0; axis--) {
      const stride = this.#stride(axis)
      coordinates[axis] = Math.floor(rest / stride)
      rest %= stride
    }
    return coordinates
  }

  /** Moves coordinates of any size into a torus. A bounded world refuses coordinates outside. */
  wrap(coordinates: readonly number[]): number[] {
    if (this.isTorus && coordinates.length === this.dimensions && coordinates.every(Number.isSafeInteger)) {
      return coordinates.map((coordinate, axis) => modulo(coordinate, this.#length(axis)))
    }
    return this.toCoordinates(this.toFlat(coordinates))
  }

  /** Cells one step away, in ascending order. */
  neighbours(flat: number): number[] {
    this.#checkFlat(flat)
    const found = new Set<number>()
    for (let direction = 0; direction < this.directions; direction++) found.add(this.step(flat, direction))
    found.delete(flat)
    found.delete(NO_CELL)
    return [...found].sort((a, b) => a - b)
  }

  /**
   * Cell one step from `flat`, or NO_CELL at the end of a bounded world. It checks nothing, so that inner loops can
   * use it.
   */
  step(flat: number, direction: number): number {
    const isUp = direction < this.dimensions
    const axis = isUp ? direction : direction - this.dimensions
    const stride = this.#stride(axis)
    const length = this.#length(axis)
    const coordinate = ((flat / stride) | 0) % length
    if (isUp) {
      if (coordinate + 1 < length) return flat + stride
      return this.isTorus ? flat - coordinate * stride : NO_CELL
    }
    if (coordinate > 0) return flat - stride
    return this.isTorus ? flat + (length - 1) * stride : NO_CELL
  }

  /** Direction as a vector, such as [0, -1]. */
  vector(direction: number): number[] {
    const vector = new Array<number>(this.dimensions).fill(0)
    vector[direction % this.dimensions] = direction < this.dimensions ? 1 : -1
    return vector
  }

  #checkFlat(flat: number): void {
    if (Number.isInteger(flat) && flat >= 0 && flat < this.size) return
    throw new EnvironmentError(`Flat index ${flat} is outside the world of [${this.shape}], 0 to ${this.size - 1}`)
  }

  #stride(axis: number): number {
    return this.#strides[axis] as number
  }

  #length(axis: number): number {
    return this.#shape[axis] as number
  }
}

function checkShape(shape: readonly number[]): void {
  const isList = Array.isArray(shape) && shape.length >= 1 && shape.length <= MOST_DIMENSIONS
  if (!isList || !shape.every(length => Number.isInteger(length) && length >= 1)) {
    throw new EnvironmentError(
      `shape is ${JSON.stringify(shape)}; allowed: 1 to ${MOST_DIMENSIONS} whole numbers from 1 on, such as [100, 100]`,
    )
  }
  const size = shape.reduce((product, length) => product * length, 1)
  if (size > MOST_CELLS)
    throw new EnvironmentError(`shape [${shape}] has ${size} cells; allowed: at most ${MOST_CELLS}`)
}

function stridesOf(shape: readonly number[]): Int32Array {
  const strides = new Int32Array(shape.length)
  let stride = 1
  for (const [axis, length] of shape.entries()) {
    strides[axis] = stride
    stride *= length
  }
  return strides
}

/** Not `%`: that keeps the sign. The `+ 0` turns -0 into 0. */
const modulo = (value: number, length: number): number => (((value % length) + length) % length) + 0
