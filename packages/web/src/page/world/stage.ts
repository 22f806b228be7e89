import { computed, signal } from '@preact/signals'
import { query, replaceQuery } from '../address.ts'
import {
  type Camera,
  cameraOf,
  cameraText,
  cellAt,
  fitted,
  kept,
  panned,
  type Size,
  wrapped,
  zoomedAt,
} from './camera.ts'
import type { Frame } from './plane.ts'
import type { Spot } from './spot.ts'

/** The address follows the view when it has been at rest for this long. */
const REST_MS = 250

/** The camera over one plane of a world, and the two cursors in it. */
export class Stage {
  readonly world: Size
  readonly isTorus: boolean
  readonly frame = signal<Frame | undefined>(undefined)
  readonly camera = signal<Camera | undefined>(cameraOf(query.peek().get('at')))
  readonly size = signal<Size>({ width: 0, height: 0 })
  readonly hovered = signal<Spot | undefined>(undefined)
  /** Moved by the keyboard and read out. */
  readonly cursor = signal<Spot | undefined>(undefined)
  readonly showsMinimap = signal(true)
  #timer = 0

  /** Panning by hand ends following. */
  readonly isFollowing: { value: boolean }

  constructor(world: Size, isTorus: boolean, isFollowing: { value: boolean }) {
    this.world = world
    this.isTorus = isTorus
    this.isFollowing = isFollowing
  }

  /** The cell that is read out: that of the keyboard, otherwise that under the pointer. */
  readonly looked = computed(() => this.cursor.value ?? this.hovered.value)

  /** Whether a part of the world is out of view. */
  readonly isPartial = computed(() => {
    const camera = this.camera.value
    const { width, height } = this.size.value
    if (camera === undefined || width === 0) return false
    return this.world.width * camera.scale > width * 1.02 || this.world.height * camera.scale > height * 1.02
  })

  resized(size: Size): void {
    this.size.value = size
    if (size.width > 0) this.camera.value ??= fitted(this.world, size)
  }

  move(camera: Camera): void {
    this.camera.value = kept(camera, this.world, this.isTorus)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const current = this.camera.peek()
      if (current !== undefined) replaceQuery({ at: cameraText(current) })
    }, REST_MS)
  }

  zoom(factor: number, pointer: Spot = this.#middle()): void {
    const camera = this.camera.peek()
    if (camera !== undefined) this.move(zoomedAt(camera, factor, pointer, this.size.peek()))
  }

  pan(dx: number, dy: number): void {
    const camera = this.camera.peek()
    if (camera === undefined) return
    this.isFollowing.value = false
    this.move(panned(camera, dx, dy))
  }

  fit(): void {
    this.isFollowing.value = false
    this.move(fitted(this.world, this.size.peek()))
  }

  /** Centres a cell. */
  centre({ x, y }: Spot): void {
    const camera = this.camera.peek()
    if (camera !== undefined) this.move({ ...camera, x: x + 0.5, y: y + 0.5 })
  }

  cellUnder(point: Spot): Spot | undefined {
    const camera = this.camera.peek()
    return camera && cellAt(camera, point, this.size.peek(), this.world, this.isTorus)
  }

  toggleCursor(start: Spot | undefined): void {
    this.cursor.value = this.cursor.peek() === undefined ? (start ?? this.cellUnder(this.#middle())) : undefined
  }

  moveCursor(dx: number, dy: number): void {
    const from = this.cursor.peek()
    if (from === undefined) return
    const { width, height } = this.world
    const bounded = (value: number, length: number): number =>
      this.isTorus ? wrapped(value, length) : Math.min(length - 1, Math.max(0, value))
    const cell = { x: bounded(from.x + dx, width), y: bounded(from.y + dy, height) }
    this.cursor.value = cell
    if (!this.#isInSight(cell)) this.centre(cell)
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #isInSight({ x, y }: Spot): boolean {
    const camera = this.camera.peek()
    if (camera === undefined) return true
    const { width, height } = this.size.peek()
    const [dx, dy] = [Math.abs(x + 0.5 - camera.x), Math.abs(y + 0.5 - camera.y)]
    const nearX = this.isTorus ? Math.min(dx, this.world.width - dx) : dx
    const nearY = this.isTorus ? Math.min(dy, this.world.height - dy) : dy
    return nearX * camera.scale < width / 2 - 12 && nearY * camera.scale < height / 2 - 12
  }

  #middle(): Spot {
    const { width, height } = this.size.peek()
    return { x: width / 2, y: height / 2 }
  }
}
