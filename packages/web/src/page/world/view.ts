import { type Camera, type Size, wrapped } from './camera.ts'
import { type Paint, paintFrame } from './paint.ts'
import type { Frame } from './plane.ts'

const GRID_FROM = 8
const VALUES_FROM = 24

/** An organism as the canvas marks it. */
export type Spot = { readonly x: number; readonly y: number }

export type Scene = {
  readonly frame: Frame
  readonly camera: Camera
  readonly paint: Paint
  readonly isTorus: boolean
  /** Changes with the frame or the colours: only then is the image painted again. */
  readonly stamp: string
  readonly selected?: Spot | undefined
  readonly trail?: readonly Spot[] | undefined
  readonly cursor?: Spot | undefined
  readonly colours: { readonly ring: string; readonly grid: string; readonly text: string; readonly outside: string }
}

/** Draws a world on a canvas: an image as large as the world, scaled by the browser. */
export class View {
  readonly #canvas: HTMLCanvasElement
  readonly #context: CanvasRenderingContext2D
  readonly #image = document.createElement('canvas')
  #stamp = ''

  constructor(canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false })
    if (context === null) throw new Error('This browser has no canvas')
    this.#canvas = canvas
    this.#context = context
  }

  draw(scene: Scene): void {
    const { frame, camera, isTorus, colours } = scene
    const step = stepOf(camera.scale)
    this.#paint(scene, step)
    const context = this.#context
    const ratio = devicePixelRatio
    const view = { width: this.#canvas.width / ratio, height: this.#canvas.height / ratio }
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.fillStyle = colours.outside
    context.fillRect(0, 0, view.width, view.height)
    context.imageSmoothingEnabled = camera.scale < 1
    for (const corner of corners(camera, frame, view, isTorus)) {
      context.drawImage(this.#image, corner.x, corner.y, frame.width * camera.scale, frame.height * camera.scale)
    }
    if (camera.scale >= GRID_FROM) this.#grid(scene, view)
    if (camera.scale >= VALUES_FROM) this.#values(scene, view)
    this.#spots(scene, view)
  }

  #paint({ frame, paint, stamp }: Scene, step: number): void {
    const wanted = `${stamp} ${step}`
    if (wanted === this.#stamp) return
    this.#stamp = wanted
    const [width, height] = [Math.ceil(frame.width / step), Math.ceil(frame.height / step)]
    if (this.#image.width !== width || this.#image.height !== height) {
      this.#image.width = width
      this.#image.height = height
    }
    const context = this.#image.getContext('2d')
    if (context === null) return
    const image = context.createImageData(width, height)
    paintFrame(frame, paint, step, new Uint32Array(image.data.buffer))
    context.putImageData(image, 0, 0)
  }

  #grid({ camera, frame, isTorus, colours }: Scene, view: Size): void {
    const context = this.#context
    const { left, top, right, bottom } = visible(camera, frame, view, isTorus)
    context.strokeStyle = colours.grid
    context.lineWidth = 1
    context.beginPath()
    for (let x = left; x <= right; x++)
      line(context, screenX(x, camera, view), 0, screenX(x, camera, view), view.height)
    for (let y = top; y <= bottom; y++) line(context, 0, screenY(y, camera, view), view.width, screenY(y, camera, view))
    context.stroke()
  }

  #values({ frame, camera, isTorus, colours }: Scene, view: Size): void {
    const context = this.#context
    const { left, top, right, bottom } = visible(camera, frame, view, isTorus)
    context.font = `${Math.min(14, camera.scale / 2.6)}px ui-monospace, monospace`
    context.textAlign = 'center'
    context.textBaseline = 'middle'
    context.fillStyle = colours.text
    for (let y = top; y < bottom; y++) {
      for (let x = left; x < right; x++) {
        const at = wrapped(y, frame.height) * frame.width + wrapped(x, frame.width)
        if (frame.type[at] === 0) continue
        const text = String(frame.value[at])
        context.fillText(text, screenX(x + 0.5, camera, view), screenY(y + 0.5, camera, view))
      }
    }
  }

  #spots(scene: Scene, view: Size): void {
    const { selected, trail = [], cursor, colours } = scene
    const context = this.#context
    trail.forEach((spot, index) => {
      context.globalAlpha = (index + 1) / (trail.length + 1)
      this.#ring(scene, spot, view, Math.max(1.5, scene.camera.scale * 0.2), colours.ring)
    })
    context.globalAlpha = 1
    if (selected) this.#ring(scene, selected, view, Math.max(7, scene.camera.scale * 0.9), colours.ring)
    if (cursor) this.#ring(scene, cursor, view, Math.max(5, scene.camera.scale * 0.6), colours.text)
  }

  #ring({ camera, frame, isTorus }: Scene, spot: Spot, view: Size, radius: number, colour: string): void {
    const context = this.#context
    context.strokeStyle = colour
    context.lineWidth = 2
    for (const corner of corners(camera, frame, view, isTorus)) {
      context.beginPath()
      context.arc(corner.x + (spot.x + 0.5) * camera.scale, corner.y + (spot.y + 0.5) * camera.scale, radius, 0, 7)
      context.stroke()
    }
  }
}

/** Cells per pixel of the image, a power of two. */
const stepOf = (scale: number): number => (scale >= 1 ? 1 : 2 ** Math.floor(Math.log2(1 / scale)))

const screenX = (x: number, camera: Camera, view: Size): number => (x - camera.x) * camera.scale + view.width / 2
const screenY = (y: number, camera: Camera, view: Size): number => (y - camera.y) * camera.scale + view.height / 2

function line(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5)
  context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5)
}

/** Screen positions of the world's upper left corner: one, or on a torus as many as the view shows. */
function corners(camera: Camera, world: Size, view: Size, isTorus: boolean): { x: number; y: number }[] {
  const [x, y] = [screenX(0, camera, view), screenY(0, camera, view)]
  if (!isTorus) return [{ x, y }]
  const [width, height] = [world.width * camera.scale, world.height * camera.scale]
  const found = []
  for (let atY = wrapped(y, height) - height; atY < view.height; atY += height)
    for (let atX = wrapped(x, width) - width; atX < view.width; atX += width) found.push({ x: atX, y: atY })
  return found
}

/** The cells in view; on a torus they may exceed the world's size. */
function visible(camera: Camera, world: Size, view: Size, isTorus: boolean) {
  const found = {
    left: Math.floor(camera.x - view.width / 2 / camera.scale),
    top: Math.floor(camera.y - view.height / 2 / camera.scale),
    right: Math.ceil(camera.x + view.width / 2 / camera.scale),
    bottom: Math.ceil(camera.y + view.height / 2 / camera.scale),
  }
  if (isTorus) return found
  return {
    left: Math.max(0, found.left),
    top: Math.max(0, found.top),
    right: Math.min(world.width, found.right),
    bottom: Math.min(world.height, found.bottom),
  }
}
