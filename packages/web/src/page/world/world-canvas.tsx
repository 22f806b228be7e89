import { effect, type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { query, replaceQuery } from '../address.ts'
import { addCommands } from '../keys.ts'
import { theme } from '../preferences.ts'
import { type Camera, cameraOf, cameraText, cellAt, fitted, kept, panned, type Size, zoomedAt } from './camera.ts'
import { Frames, MissingTick } from './frames.ts'
import { type Lineages, ownerSlots } from './lineages.ts'
import type { Organism } from './organism.ts'
import { colourTable, type Scheme, typeColourText } from './palette.ts'
import { type Frame, planeOf, sizeOf } from './plane.ts'
import { play } from './player.ts'
import type { RunDetails } from './run-shapes.ts'
import type { RunState } from './run-state.ts'
import { type Spot, View } from './view.ts'

type Props = {
  run: RunState
  metadata: NonNullable<RunDetails['metadata']>
  scheme: ReadonlySignal<Scheme>
  organisms: ReadonlySignal<readonly Organism[]>
  lineages: Lineages
  stamp: ReadonlySignal<number>
}

const ZOOM_STEP = 1.25
const PAN_STEP = 60

export function WorldCanvas({ run, metadata, scheme, organisms, lineages, stamp }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const { shape, topology } = metadata.environment
  const isTorus = topology === 'torus'
  const planeText = `${query.value.get('plane')} ${query.value.get('fix')}`
  const plane = useMemo(() => planeOf(shape, query.peek().get('plane'), query.peek().get('fix')), [planeText])
  const world = useMemo(() => sizeOf(shape, plane), [plane])
  const frames = useMemo(() => new Frames(run.runId, shape, plane), [run, plane])
  const frame = useSignal<Frame | undefined>(undefined)
  const camera = useSignal<Camera | undefined>(cameraOf(query.peek().get('at')))
  const size = useSignal<Size>({ width: 0, height: 0 })
  const hover = useSignal<Spot | undefined>(undefined)
  const isDark = useSignal(matchesDark())
  const missing = useSignal('')

  useEffect(() => () => frames.close(), [frames])
  useEffect(() => play(run, frames), [run, frames])
  useEffect(() => loadFrames(run, frames, frame, missing), [run, frames])
  useEffect(() => watchSize(canvas.current, size), [])
  useEffect(() => {
    const media = matchMedia('(prefers-color-scheme: dark)')
    const look = (): void => {
      isDark.value = matchesDark()
    }
    media.addEventListener('change', look)
    const end = effect(() => {
      void theme.value
      queueMicrotask(look)
    })
    return () => {
      media.removeEventListener('change', look)
      end()
    }
  }, [])

  useEffect(() => {
    const element = canvas.current
    if (element === null) return
    const view = new View(element)
    let animation = 0
    const end = effect(() => {
      const shown = frame.value
      const { width, height } = size.value
      if (shown === undefined || width === 0) return
      camera.value ??= fitted(world, { width, height })
      const looked = camera.value
      const colours = scheme.value
      const chosen = query.value.get('o')
      const found = organisms.value.find(({ id }) => String(id) === chosen)
      const dark = isDark.value
      const paint = {
        table: tableOf(colours, dark),
        slots: colours === 'owner' ? ownerSlots(organisms.value, lineages.owners.length) : lineages.owners,
      }
      const paintStamp = `${shown.tick} ${colours} ${dark} ${stamp.value}`
      const cursor = hover.value
      cancelAnimationFrame(animation)
      animation = requestAnimationFrame(() => {
        view.draw({
          frame: shown,
          camera: looked,
          paint,
          isTorus,
          stamp: paintStamp,
          cursor,
          selected: found && spotOf(found.position, plane),
          colours: dark ? DARK : LIGHT,
        })
        element.dataset.tick = String(shown.tick)
      })
    })
    return () => {
      cancelAnimationFrame(animation)
      end()
    }
  }, [world])

  const move = (moved: Camera): void => {
    camera.value = kept(moved, world, isTorus)
    clearTimeout(addressTimer)
    addressTimer = setTimeout(() => replaceQuery({ at: cameraText(camera.peek() ?? moved) }), 250)
  }
  const zoom = (factor: number, pointer = { x: size.peek().width / 2, y: size.peek().height / 2 }): void => {
    const current = camera.peek()
    if (current) move(zoomedAt(current, factor, pointer, size.peek()))
  }
  const pan = (dx: number, dy: number): void => {
    const current = camera.peek()
    if (current) move(panned(current, dx, dy))
  }
  const fit = (): void => move(fitted(world, size.peek()))
  useEffect(
    () =>
      addCommands('World', {
        '+': ['Zoom in', () => zoom(ZOOM_STEP)],
        '-': ['Zoom out', () => zoom(1 / ZOOM_STEP)],
        '0': ['Fit the world', fit],
        w: ['Pan up', () => pan(0, PAN_STEP)],
        a: ['Pan left', () => pan(PAN_STEP, 0)],
        s: ['Pan down', () => pan(0, -PAN_STEP)],
        d: ['Pan right', () => pan(-PAN_STEP, 0)],
      }),
    [world],
  )

  const pointOf = (event: PointerEvent | WheelEvent | MouseEvent): Spot => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect()
    return { x: event.clientX - left, y: event.clientY - top }
  }
  const under = (point: Spot): Spot | undefined =>
    camera.peek() && cellAt(camera.peek() as Camera, point, size.peek(), world, isTorus)
  return (
    <div class="world-view">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`World at tick ${run.shown.value}, ${organisms.value.length} organisms alive`}
        onWheel={event => {
          event.preventDefault()
          zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), pointOf(event))
        }}
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId)
          drag = { from: pointOf(event), moved: false }
        }}
        onPointerMove={event => {
          const point = pointOf(event)
          if (drag === undefined) {
            hover.value = under(point)
            return
          }
          const [dx, dy] = [point.x - drag.from.x, point.y - drag.from.y]
          if (!drag.moved && Math.hypot(dx, dy) < 4) return
          drag = { from: point, moved: true }
          pan(dx, dy)
        }}
        onPointerUp={event => {
          const wasDragged = drag?.moved === true
          drag = undefined
          if (wasDragged) return
          const cell = under(pointOf(event))
          if (cell) selectAt(cell, frame.peek(), organisms.peek(), plane)
        }}
        onPointerLeave={() => {
          hover.value = undefined
        }}
      />
      <Legend types={metadata.moleculeTypes} isDark={isDark.value} />
      <p class="world-cell mono">{describe(hover.value, frame.value, metadata.moleculeTypes)}</p>
      {missing.value !== '' && (
        <p class="banner world-missing" role="status">
          {missing}
        </p>
      )}
      <div class="world-zoom row">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(ZOOM_STEP)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / ZOOM_STEP)}>
          −
        </button>
        <button type="button" onClick={fit}>
          Fit
        </button>
      </div>
    </div>
  )
}

let addressTimer = 0
let drag: { from: Spot; moved: boolean } | undefined

const DARK = { ring: '#ffffff', grid: 'rgb(255 255 255 / 8%)', text: '#e6eaf0', outside: '#06080b' }
const LIGHT = { ring: '#101418', grid: 'rgb(0 0 0 / 10%)', text: '#161b22', outside: '#dde2e8' }

const matchesDark = (): boolean =>
  theme.peek() === 'dark' || (theme.peek() === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)

const tables = new Map<string, Uint32Array>()
function tableOf(scheme: Scheme, isDark: boolean): Uint32Array {
  const name = `${scheme} ${isDark}`
  const table = tables.get(name) ?? colourTable(scheme, { isDark })
  tables.set(name, table)
  return table
}

const spotOf = (position: readonly number[], { x, y }: ReturnType<typeof planeOf>): Spot => ({
  x: position[x] ?? 0,
  y: y === undefined ? 0 : (position[y] ?? 0),
})

function loadFrames(
  run: RunState,
  frames: Frames,
  frame: { value: Frame | undefined },
  missing: { value: string },
): () => void {
  let wanted = -1
  const show = async (tick: number): Promise<void> => {
    try {
      const found = frames.peek(tick) ?? (await frames.get(tick))
      if (wanted !== tick && run.isPlaying.peek() === false && frame.value !== undefined && !run.isLive.peek()) return
      frame.value = found
      run.shown.value = tick
      missing.value = ''
    } catch (error) {
      if (wanted !== tick) return
      missing.value =
        error instanceof MissingTick ? `Tick ${tick} is missing. Step on, or choose another.` : (error as Error).message
    }
  }
  return effect(() => {
    if (run.range.value === null) return
    wanted = run.tick.value
    void show(run.tick.value)
  })
}

function watchSize(element: HTMLCanvasElement | null, size: { value: Size }): (() => void) | undefined {
  if (element === null) return undefined
  const observer = new ResizeObserver(() => {
    const { width, height } = element.getBoundingClientRect()
    element.width = Math.round(width * devicePixelRatio)
    element.height = Math.round(height * devicePixelRatio)
    size.value = { width, height }
  })
  observer.observe(element)
  return () => observer.disconnect()
}

/** Clicking the same place again selects the next organism there. */
function selectAt(
  cell: Spot,
  frame: Frame | undefined,
  organisms: readonly Organism[],
  plane: ReturnType<typeof planeOf>,
): void {
  const here = organisms.filter(({ position }) => {
    const spot = spotOf(position, plane)
    return spot.x === cell.x && spot.y === cell.y
  })
  const current = Number(query.peek().get('o'))
  const place = here.findIndex(({ id }) => id === current)
  const chosen = here[(place + 1) % Math.max(1, here.length)]?.id ?? frame?.owner[cell.y * frame.width + cell.x]
  replaceQuery({ o: chosen !== undefined && chosen > 0 ? String(chosen) : null })
}

function describe(cell: Spot | undefined, frame: Frame | undefined, types: readonly string[]): string {
  if (cell === undefined || frame === undefined) return ''
  const at = cell.y * frame.width + cell.x
  const type = frame.type[at] ?? 0
  if (type === 0) return `(${cell.x}, ${cell.y}) empty`
  const owner = frame.owner[at] ?? 0
  const text = `(${cell.x}, ${cell.y}) ${types[type] ?? `type ${type}`} ${frame.value[at]}`
  return owner > 0 ? `${text} of #${owner}` : text
}

function Legend({ types, isDark }: { types: readonly string[]; isDark: boolean }) {
  return (
    <ul class="world-legend row small">
      {types.map((name, type) =>
        type === 0 ? null : (
          <li key={name} class="row">
            <svg width="12" height="12" aria-hidden="true">
              <rect width="12" height="12" rx="2" fill={typeColourText(type, isDark)} />
            </svg>
            {name}
          </li>
        ),
      )}
    </ul>
  )
}
