import type { Spot } from './spot.ts'

/** Cells per pixel of the glow: drawn back at full size, the browser's smoothing makes it soft. */
const COARSE = 3
/** Larger worlds are drawn without it: in software it costs as much as the world itself. */
const MOST_PIXELS = 512 * 512

/** Light around organisms: the world again, coarse and soft, added to itself. */
export class Glow {
  readonly #image = document.createElement('canvas')
  #isThere = false

  take(world: HTMLCanvasElement): void {
    this.#isThere = world.width * world.height <= MOST_PIXELS
    if (!this.#isThere) return
    const [width, height] = [Math.ceil(world.width / COARSE), Math.ceil(world.height / COARSE)]
    if (this.#image.width !== width || this.#image.height !== height) {
      this.#image.width = width
      this.#image.height = height
    }
    const context = this.#image.getContext('2d')
    if (context === null) return
    context.imageSmoothingEnabled = true
    context.imageSmoothingQuality = 'medium'
    context.drawImage(world, 0, 0, width, height)
  }

  draw(
    context: CanvasRenderingContext2D,
    places: readonly Spot[],
    width: number,
    height: number,
    isDark: boolean,
  ): void {
    if (!this.#isThere) return
    context.save()
    context.imageSmoothingEnabled = true
    context.globalCompositeOperation = isDark ? 'screen' : 'multiply'
    context.globalAlpha = isDark ? 0.75 : 0.35
    for (const { x, y } of places) context.drawImage(this.#image, x, y, width, height)
    context.restore()
  }
}
