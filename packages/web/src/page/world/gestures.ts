import type { Spot } from './spot.ts'
import type { Stage } from './stage.ts'

/** A pointer that has moved less than this has clicked. */
const CLICK_PX = 5

/** Pointer, wheel and two fingers on the canvas. `click` gets the cell. The returned function ends it. */
export function listen(canvas: HTMLCanvasElement, stage: Stage, click: (cell: Spot) => void): () => void {
  const ended = new AbortController()
  const { signal } = ended
  const down = new Map<number, Spot>()
  let hasMoved = false
  const pointOf = (event: MouseEvent): Spot => {
    const { left, top } = canvas.getBoundingClientRect()
    return { x: event.clientX - left, y: event.clientY - top }
  }
  canvas.addEventListener(
    'wheel',
    event => {
      event.preventDefault()
      const lines = event.deltaMode === 1 ? 16 : 1
      stage.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0015)), pointOf(event))
    },
    { signal, passive: false },
  )
  canvas.addEventListener(
    'pointerdown',
    event => {
      if (event.button !== 0) return
      canvas.setPointerCapture(event.pointerId)
      if (down.size === 0) hasMoved = false
      down.set(event.pointerId, pointOf(event))
    },
    { signal },
  )
  canvas.addEventListener(
    'pointermove',
    event => {
      const point = pointOf(event)
      const from = down.get(event.pointerId)
      if (from === undefined) {
        if (event.pointerType !== 'touch') stage.hovered.value = stage.cellUnder(point)
        return
      }
      const [dx, dy] = [point.x - from.x, point.y - from.y]
      if (!hasMoved && Math.hypot(dx, dy) < CLICK_PX) return
      hasMoved = true
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1]
      if (other === undefined) stage.pan(dx, dy)
      else pinch(stage, other, from, point)
      down.set(event.pointerId, point)
    },
    { signal },
  )
  const up = (event: PointerEvent): void => {
    const wasDown = down.delete(event.pointerId)
    if (!wasDown || hasMoved || down.size > 0 || event.type === 'pointercancel') return
    const cell = stage.cellUnder(pointOf(event))
    if (cell !== undefined) click(cell)
  }
  canvas.addEventListener('pointerup', up, { signal })
  canvas.addEventListener('pointercancel', up, { signal })
  canvas.addEventListener(
    'pointerleave',
    () => {
      stage.hovered.value = undefined
    },
    { signal },
  )
  return () => ended.abort()
}

/** Two fingers: the world stays under both. */
function pinch(stage: Stage, still: Spot, from: Spot, to: Spot): void {
  const [before, after] = [Math.hypot(from.x - still.x, from.y - still.y), Math.hypot(to.x - still.x, to.y - still.y)]
  if (before < 1 || after < 1) return
  stage.zoom(after / before, { x: (still.x + to.x) / 2, y: (still.y + to.y) / 2 })
  stage.pan((to.x - from.x) / 2, (to.y - from.y) / 2)
}
