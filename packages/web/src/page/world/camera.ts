/** Where the viewer looks: the centre in cells, and pixels per cell. */
export type Camera = { readonly x: number; readonly y: number; readonly scale: number }

export type Size = { readonly width: number; readonly height: number }

const MIN_SCALE = 1 / 8
const MAX_SCALE = 64
const MARGIN = 0.96

/** The whole world, with a margin. */
export const fitted = (world: Size, view: Size): Camera => ({
  x: world.width / 2,
  y: world.height / 2,
  scale: bounded(Math.min(view.width / world.width, view.height / world.height) * MARGIN),
})

/** Zooms so that the cell under the pointer stays under it. */
export function zoomedAt(camera: Camera, factor: number, pointer: { x: number; y: number }, view: Size): Camera {
  const scale = bounded(camera.scale * factor)
  const [dx, dy] = [pointer.x - view.width / 2, pointer.y - view.height / 2]
  return {
    scale,
    x: camera.x + dx / camera.scale - dx / scale,
    y: camera.y + dy / camera.scale - dy / scale,
  }
}

export const panned = (camera: Camera, dx: number, dy: number): Camera => ({
  ...camera,
  x: camera.x - dx / camera.scale,
  y: camera.y - dy / camera.scale,
})

/** A torus has no edges; a bounded world stays in view. */
export function kept(camera: Camera, world: Size, isTorus: boolean): Camera {
  if (isTorus) return { ...camera, x: wrapped(camera.x, world.width), y: wrapped(camera.y, world.height) }
  return {
    ...camera,
    x: Math.min(world.width, Math.max(0, camera.x)),
    y: Math.min(world.height, Math.max(0, camera.y)),
  }
}

export const wrapped = (value: number, length: number): number => ((value % length) + length) % length

/** The cell at a point of the view, or undefined outside of a bounded world. */
export function cellAt(
  camera: Camera,
  point: { readonly x: number; readonly y: number },
  view: Size,
  world: Size,
  isTorus: boolean,
): { x: number; y: number } | undefined {
  const x = Math.floor(camera.x + (point.x - view.width / 2) / camera.scale)
  const y = Math.floor(camera.y + (point.y - view.height / 2) / camera.scale)
  if (isTorus) return { x: wrapped(x, world.width), y: wrapped(y, world.height) }
  return x >= 0 && y >= 0 && x < world.width && y < world.height ? { x, y } : undefined
}

const bounded = (scale: number): number => Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale))

/** `at=512,300,4` of the address. */
export function cameraOf(text: string | null): Camera | undefined {
  const [x, y, scale] = (text ?? '').split(',').map(Number)
  if (x === undefined || y === undefined || scale === undefined) return undefined
  return [x, y, scale].every(Number.isFinite) && scale > 0 ? { x, y, scale: bounded(scale) } : undefined
}

export const cameraText = ({ x, y, scale }: Camera): string => [x.toFixed(1), y.toFixed(1), scale.toFixed(3)].join(',')

export const screenX = (x: number, camera: Camera, view: Size): number => (x - camera.x) * camera.scale + view.width / 2
export const screenY = (y: number, camera: Camera, view: Size): number =>
  (y - camera.y) * camera.scale + view.height / 2

/** Where the upper left corners of the world are on the screen: one, or on a torus as many as the view shows. */
export function corners(camera: Camera, world: Size, view: Size, isTorus: boolean): { x: number; y: number }[] {
  const [x, y] = [screenX(0, camera, view), screenY(0, camera, view)]
  if (!isTorus) return [{ x, y }]
  const [width, height] = [world.width * camera.scale, world.height * camera.scale]
  const found = []
  for (let atY = wrapped(y, height) - height; atY < view.height; atY += height)
    for (let atX = wrapped(x, width) - width; atX < view.width; atX += width) found.push({ x: atX, y: atY })
  return found
}

/** The corner of the repetition that the camera is in. */
export const homeOf = (camera: Camera, world: Size, view: Size): { x: number; y: number } => ({
  x: screenX(Math.floor(camera.x / world.width) * world.width, camera, view),
  y: screenY(Math.floor(camera.y / world.height) * world.height, camera, view),
})

/** The cells in view; on a torus beyond the world's size too. */
export function visibleCells(camera: Camera, world: Size, view: Size, isTorus: boolean) {
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
