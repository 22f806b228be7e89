import { effect, type ReadonlySignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Camera, wrapped } from './camera.ts'
import { isDark } from './dark.ts'
import type { Stage } from './stage.ts'

const WIDEST = 168
const HIGHEST = 128

/** The whole world, with the visible part framed. A click or a drag moves the view there. */
export function Minimap({
  stage,
  image,
  drawn,
}: {
  stage: Stage
  image: () => HTMLCanvasElement | undefined
  /** Changes when the world was painted. */
  drawn: ReadonlySignal<number>
}) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const { width, height } = stage.world
  const scale = Math.min(WIDEST / width, HIGHEST / height)
  const size = { width: Math.max(8, Math.round(width * scale)), height: Math.max(8, Math.round(height * scale)) }
  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (!context) return
    return effect(() => {
      void drawn.value
      const [camera, view, world] = [stage.camera.value, stage.size.value, image()]
      if (camera === undefined || world === undefined) return
      context.imageSmoothingEnabled = true
      context.drawImage(world, 0, 0, size.width, size.height)
      context.strokeStyle = isDark() ? '#ffffff' : '#101418'
      context.lineWidth = 1.5
      for (const box of boxes(camera, view, stage)) {
        context.strokeRect(box.x * scale, box.y * scale, box.width * scale, box.height * scale)
      }
    })
  }, [stage])
  const go = (event: PointerEvent): void => {
    if (event.buttons !== 1) return
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect()
    stage.isFollowing.value = false
    stage.centre({ x: (event.clientX - left) / scale - 0.5, y: (event.clientY - top) / scale - 0.5 })
  }
  return (
    <canvas
      ref={canvas}
      class="world-minimap"
      width={size.width}
      height={size.height}
      onPointerDown={event => {
        event.currentTarget.setPointerCapture(event.pointerId)
        go(event)
      }}
      onPointerMove={go}
    />
  )
}

/** The visible part, in cells; on a torus it may cross an edge, and is drawn on both sides. */
function boxes({ x, y, scale }: Camera, view: { width: number; height: number }, { world, isTorus }: Stage) {
  const [width, height] = [Math.min(world.width, view.width / scale), Math.min(world.height, view.height / scale)]
  const [left, top] = [x - width / 2, y - height / 2]
  if (!isTorus) return [{ x: left, y: top, width, height }]
  const [startX, startY] = [wrapped(left, world.width), wrapped(top, world.height)]
  return [0, -world.width].flatMap(dx =>
    [0, -world.height].map(dy => ({ x: startX + dx, y: startY + dy, width, height })),
  )
}
