import { type Camera, corners, homeOf, type Size, screenX, screenY, visibleCells, wrapped } from './camera.ts'
import type { Part } from './detail.ts'
import { Glow } from './glow.ts'
import { colourAt, type Paint, paintFrame } from './paint.ts'
import type { Frame } from './plane.ts'
import type { Spot } from './spot.ts'

const GRID_FROM = 8
const VALUES_FROM = 24

export type Scene = {
  readonly frame: Frame
  /** In cells; the frame has fewer pixels where the world is too large. */
  readonly world: Size
  readonly camera: Camera
  readonly paint: Paint
  readonly isTorus: boolean
  /** Changes with the frame or the colours: the image is painted again only then. */
  readonly stamp: string
  /** Whether what lives shines on what is around it. */
  readonly glows: boolean
  readonly isDark: boolean
  /** Of a reduced world: the cells in view themselves. */
  readonly part?: Part | undefined
  readonly selected?: Spot | undefined
  readonly trail?: readonly Spot[] | undefined
  readonly hovered?: Spot | undefined
  /** Of the keyboard. */
  readonly cursor?: Spot | undefined
}

type Colours = {
  readonly ring: string
  readonly halo: string
  readonly grid: string
  readonly accent: string
  readonly outside: string
  readonly veil: string
}
const DARK: Colours = {
  ring: '#ffffff',
  halo: 'rgb(0 0 0 / 65%)',
  grid: 'rgb(255 255 255 / 8%)',
  accent: '#4cc2c9',
  outside: '#05070b',
  veil: 'rgb(5 7 11 / 62%)',
}
const LIGHT: Colours = {
  ring: '#101418',
  halo: 'rgb(255 255 255 / 80%)',
  grid: 'rgb(0 0 0 / 10%)',
  accent: '#0b6e75',
  outside: '#dde2e8',
  veil: 'rgb(247 248 250 / 66%)',
}

/** Draws a world on a canvas: an image as large as the world, scaled by the browser. */
export class View {
  readonly #canvas: HTMLCanvasElement
  readonly #context: CanvasRenderingContext2D
  readonly #glow = new Glow()
  /** The world alone, a pixel a cell (or fewer, zoomed out): the minimap shows it too. */
  readonly image = document.createElement('canvas')
  readonly #partImage = document.createElement('canvas')
  /** Used again for every tick of the same size. */
  #pixels: ImageData | undefined
  #stamp = ''
  /** For the budgets. */
  lastDrawMs = 0

  constructor(canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false })
    if (context === null) throw new Error('This browser has no canvas')
    this.#canvas = canvas
    this.#context = context
  }

  draw(scene: Scene): void {
    const begun = performance.now()
    const { frame, world, camera, isTorus } = scene
    const hasCells = scene.part !== undefined || (frame.width === world.width && frame.height === world.height)
    const colours = scene.isDark ? DARK : LIGHT
    this.#paint(scene, stepOf((camera.scale * world.width) / frame.width))
    const context = this.#context
    const ratio = devicePixelRatio
    const view = { width: this.#canvas.width / ratio, height: this.#canvas.height / ratio }
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.fillStyle = colours.outside
    context.fillRect(0, 0, view.width, view.height)
    const places = corners(camera, world, view, isTorus)
    const [width, height] = [world.width * camera.scale, world.height * camera.scale]
    context.imageSmoothingEnabled = camera.scale < 1
    for (const { x, y } of places) context.drawImage(this.image, x, y, width, height)
    if (scene.part) this.#drawPart(scene, scene.part, view)
    if (scene.glows && camera.scale < GRID_FROM) this.#glow.draw(context, places, width, height, scene.isDark)
    if (camera.scale >= GRID_FROM && hasCells) this.#grid(scene, view, colours)
    if (camera.scale >= VALUES_FROM && hasCells) this.#values(scene, view)
    if (isTorus) this.#veil(scene, view, colours)
    this.#spots(scene, view, colours)
    this.lastDrawMs = performance.now() - begun
  }

  #paint({ frame, paint, stamp, glows }: Scene, step: number): void {
    const wanted = `${stamp} ${step}`
    if (wanted === this.#stamp) return
    this.#stamp = wanted
    const [width, height] = [Math.ceil(frame.width / step), Math.ceil(frame.height / step)]
    if (this.image.width !== width || this.image.height !== height) {
      this.image.width = width
      this.image.height = height
    }
    const context = this.image.getContext('2d')
    if (context === null) return
    const isSame = this.#pixels?.width === width && this.#pixels.height === height
    const image = isSame && this.#pixels ? this.#pixels : context.createImageData(width, height)
    this.#pixels = image
    paintFrame(frame, paint, step, new Uint32Array(image.data.buffer))
    context.putImageData(image, 0, 0)
    if (glows) this.#glow.take(this.image)
  }

  #drawPart({ camera, paint }: Scene, { frame, left, top }: Part, view: Size): void {
    const image = this.#partImage
    image.width = frame.width
    image.height = frame.height
    const pixels = new ImageData(frame.width, frame.height)
    paintFrame(frame, paint, 1, new Uint32Array(pixels.data.buffer))
    image.getContext('2d')?.putImageData(pixels, 0, 0)
    const [width, height] = [frame.width * camera.scale, frame.height * camera.scale]
    this.#context.drawImage(image, screenX(left, camera, view), screenY(top, camera, view), width, height)
  }

  #grid({ camera, world, isTorus }: Scene, view: Size, { grid }: Colours): void {
    const context = this.#context
    const { left, top, right, bottom } = visibleCells(camera, world, view, isTorus)
    context.strokeStyle = grid
    context.lineWidth = 1
    context.beginPath()
    const [from, to] = [screenY(top, camera, view), screenY(bottom, camera, view)]
    for (let x = left; x <= right; x++) line(context, screenX(x, camera, view), from, screenX(x, camera, view), to)
    const [start, end] = [screenX(left, camera, view), screenX(right, camera, view)]
    for (let y = top; y <= bottom; y++) line(context, start, screenY(y, camera, view), end, screenY(y, camera, view))
    context.stroke()
  }

  #values({ frame: whole, part, world, camera, isTorus, paint }: Scene, view: Size): void {
    const frame = part?.frame ?? whole
    const context = this.#context
    const { left, top, right, bottom } = visibleCells(camera, world, view, isTorus)
    context.font = `${Math.min(14, camera.scale / 2.6)}px ui-monospace, monospace`
    context.textAlign = 'center'
    context.textBaseline = 'middle'
    for (let y = top; y < bottom; y++) {
      for (let x = left; x < right; x++) {
        const at = part
          ? (y - part.top) * part.frame.width + x - part.left
          : wrapped(y, whole.height) * whole.width + wrapped(x, whole.width)
        if (part && !isWithin(part, x, y)) continue
        if (frame.type[at] === 0) continue
        context.fillStyle = isBright(colourAt(frame, paint, at)) ? '#101418' : '#f2f5f8'
        const text = String(frame.value[at])
        context.fillText(text, screenX(x + 0.5, camera, view), screenY(y + 0.5, camera, view), camera.scale - 2)
      }
    }
  }

  /** Repetitions of a torus are paler, so that one sees which is the world and where it meets itself. */
  #veil({ world, camera }: Scene, view: Size, { veil }: Colours): void {
    const { x, y } = homeOf(camera, world, view)
    const [right, bottom] = [x + world.width * camera.scale, y + world.height * camera.scale]
    const context = this.#context
    context.fillStyle = veil
    if (world.width * camera.scale < view.width) {
      context.fillRect(0, 0, x, view.height)
      context.fillRect(right, 0, view.width - right, view.height)
    }
    if (world.height * camera.scale < view.height) {
      const [from, to] = world.width * camera.scale < view.width ? [x, right] : [0, view.width]
      context.fillRect(from, 0, to - from, y)
      context.fillRect(from, bottom, to - from, view.height - bottom)
    }
  }

  #spots(scene: Scene, view: Size, colours: Colours): void {
    const { selected, trail = [], hovered, cursor, camera } = scene
    const context = this.#context
    trail.forEach((spot, index) => {
      context.globalAlpha = 0.85 * ((index + 1) / (trail.length + 1)) ** 1.5
      this.#dot(scene, spot, view, Math.max(1.5, camera.scale * 0.22), colours.ring)
    })
    context.globalAlpha = 1
    if (selected) {
      const radius = Math.max(9, camera.scale * 0.95)
      this.#ring(scene, selected, view, radius, 5, colours.halo)
      this.#ring(scene, selected, view, radius, 2, colours.ring)
    }
    if (hovered && camera.scale >= 4) this.#box(scene, hovered, view, 1, colours.ring)
    if (cursor) {
      this.#box(scene, cursor, view, 5, colours.halo)
      this.#box(scene, cursor, view, 2.5, colours.accent)
    }
  }

  #dot({ camera, world, isTorus }: Scene, spot: Spot, view: Size, radius: number, colour: string): void {
    const context = this.#context
    context.fillStyle = colour
    for (const corner of corners(camera, world, view, isTorus)) {
      context.beginPath()
      context.arc(corner.x + (spot.x + 0.5) * camera.scale, corner.y + (spot.y + 0.5) * camera.scale, radius, 0, 7)
      context.fill()
    }
  }

  #ring(
    { camera, world, isTorus }: Scene,
    spot: Spot,
    view: Size,
    radius: number,
    width: number,
    colour: string,
  ): void {
    const context = this.#context
    context.strokeStyle = colour
    context.lineWidth = width
    for (const corner of corners(camera, world, view, isTorus)) {
      context.beginPath()
      context.arc(corner.x + (spot.x + 0.5) * camera.scale, corner.y + (spot.y + 0.5) * camera.scale, radius, 0, 7)
      context.stroke()
    }
  }

  #box({ camera, world, isTorus }: Scene, spot: Spot, view: Size, width: number, colour: string): void {
    const context = this.#context
    context.strokeStyle = colour
    context.lineWidth = width
    const side = Math.max(camera.scale, 8)
    const inset = (camera.scale - side) / 2
    for (const corner of corners(camera, world, view, isTorus)) {
      context.strokeRect(corner.x + spot.x * camera.scale + inset, corner.y + spot.y * camera.scale + inset, side, side)
    }
  }
}

const isWithin = ({ frame, left, top }: Part, x: number, y: number): boolean =>
  x >= left && y >= top && x < left + frame.width && y < top + frame.height

/** Cells to a pixel of the image, a power of two. */
const stepOf = (scale: number): number => (scale >= 1 ? 1 : 2 ** Math.floor(Math.log2(1 / scale)))

/** Of a colour as an ImageData holds it: whether dark text is easier to read on it than light text. */
const isBright = (colour: number): boolean =>
  0.299 * (colour & 255) + 0.587 * ((colour >> 8) & 255) + 0.114 * ((colour >> 16) & 255) > 128

function line(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5)
  context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5)
}
