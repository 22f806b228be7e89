import { effect, type ReadonlySignal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { query, replaceQuery } from '../address.ts'
import { useLate } from '../parts/skeleton.tsx'
import type { Size } from './camera.ts'
import { addCanvasKeys, addCursorKeys } from './canvas-keys.ts'
import { cellText } from './cell-text.ts'
import { isDark } from './dark.ts'
import { Detail, placeIn } from './detail.ts'
import { Frames } from './frames.ts'
import { listen } from './gestures.ts'
import { kindsOf } from './kinds.ts'
import { Legend } from './legend.tsx'
import { type Lineages, ownerSlots } from './lineages.ts'
import { Minimap } from './minimap.tsx'
import type { Organism } from './organism.ts'
import { colourTable, type Scheme } from './palette.ts'
import { type Frame, indexIn, planeOf, sizeOf } from './plane.ts'
import { PlanePicker } from './plane-choice.tsx'
import { play } from './player.ts'
import type { Metadata } from './run-shapes.ts'
import type { RunState } from './run-state.ts'
import { coreOf, isInPlane, selectAt, selectedId, spotOf } from './selection.ts'
import { showFrames, type Trouble } from './show-frames.ts'
import type { Spot } from './spot.ts'
import { Stage } from './stage.ts'
import { Trail } from './trail.ts'
import { TroubleBanner } from './trouble-banner.tsx'
import { View } from './view.ts'

type Props = {
  run: RunState
  metadata: Metadata
  scheme: ReadonlySignal<Scheme>
  organisms: ReadonlySignal<readonly Organism[]>
  lineages: Lineages
  stamp: ReadonlySignal<number>
  picked: ReadonlySignal<number | undefined>
  isFollowing: { value: boolean }
  children?: preact.ComponentChildren
}

export function WorldCanvas(props: Props) {
  const { run, metadata, scheme, organisms, lineages, stamp, picked } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const { shape, topology } = metadata.environment
  const planeText = `${query.value.get('plane')} ${query.value.get('fix')}`
  const plane = useMemo(() => planeOf(shape, query.peek().get('plane'), query.peek().get('fix')), [planeText])
  const axes = `${plane.x} ${plane.y}`
  // Time does not wrap around: a world of one dimension is a torus across only, which is drawn as bounded.
  const isTorus = topology === 'torus' && plane.y !== undefined
  const stage = useMemo(() => new Stage(sizeOf(shape, plane), isTorus, props.isFollowing), [run, axes])
  const frames = useMemo(() => new Frames(run.runId, shape, plane), [run, plane])
  const trail = useMemo(() => new Trail(run), [run, axes])
  const detail = useMemo(() => new Detail(run, stage, shape, plane), [run, stage, plane])
  useEffect(() => () => detail.close(), [detail])
  const kinds = useMemo(() => kindsOf(metadata.moleculeTypes), [metadata])
  const trouble = useSignal<Trouble | undefined>(undefined)
  const view = useRef<View | undefined>(undefined)
  const drawn = useSignal(0)

  useEffect(() => () => frames.close(), [frames])
  useEffect(() => () => stage.close(), [stage])
  useEffect(() => play(run, frames), [run, frames])
  useEffect(() => showFrames(run, frames, stage.frame, trouble, plane.y === undefined), [run, frames, stage])
  useEffect(() => watchSize(canvas.current, stage), [stage])
  const choose = (cell: Spot): void => selectAt(cell, stage.frame.peek(), organisms.peek(), plane, stage.world)
  useEffect(() => (canvas.current === null ? undefined : listen(canvas.current, stage, choose)), [stage, plane])
  useEffect(() => addCanvasKeys(stage, () => spot.peek()), [stage])
  const hasCursor = useComputed(() => stage.cursor.value !== undefined)
  // By the signal itself, not by the next render: the arrow may be pressed before that.
  useEffect(() => effect(() => (hasCursor.value ? addCursorKeys(stage, choose) : undefined)), [stage, plane])

  const coreType = metadata.moleculeTypes.indexOf('core')
  /** Where the selected organism is, in the drawn tick. */
  const spot = useComputed((): Spot | undefined => {
    const [id, frame] = [selectedId(), stage.frame.value]
    if (id === undefined || frame === undefined || plane.y === undefined) return undefined
    const core = coreOf(frame, stage.world, id, coreType)
    if (core !== undefined || coreType >= 0) return core
    const found = organisms.value.find(each => each.id === id)
    return found && isInPlane(found.position, plane) ? spotOf(found.position, plane) : undefined
  })
  useEffect(
    () =>
      effect(() => {
        const [id, frame, place] = [selectedId(), stage.frame.value, spot.value]
        if (id === undefined || frame === undefined || place === undefined) return
        trail.add(id, frame.tick, place)
        if (!props.isFollowing.value) return
        void trail.load(id, frame.tick, plane)
        stage.centre(place)
      }),
    [stage, plane],
  )

  useEffect(() => {
    const element = canvas.current
    if (element === null) return
    view.current ??= new View(element)
    const drawing = view.current
    let animation = 0
    const end = effect(() => {
      const [frame, camera, dark] = [stage.frame.value, stage.camera.value, isDark()]
      if (frame === undefined || camera === undefined || stage.size.value.width === 0) return
      const colours = scheme.value
      const slot = picked.value === undefined ? undefined : lineages.slotOf(picked.value)
      const id = selectedId()
      void trail.changed.value
      const scene = {
        frame,
        world: stage.world,
        camera,
        isTorus,
        isDark: dark,
        glows: colours === 'lineage' || colours === 'owner',
        paint: {
          table: tableOf(colours, dark, colours === 'lineage' ? slot : undefined),
          kinds,
          slots: colours === 'owner' ? ownersUpTo(lineages.owners.length) : lineages.owners,
        },
        stamp: `${run.runId} ${axes} ${plane.fixed} ${frame.tick} ${colours} ${dark} ${slot} ${stamp.value}`,
        part: detail.part.value,
        hovered: stage.hovered.value,
        cursor: stage.cursor.value,
        selected: spot.value,
        trail: id !== undefined && props.isFollowing.value ? trail.upTo(id, frame.tick) : [],
      }
      cancelAnimationFrame(animation)
      animation = requestAnimationFrame(() => {
        drawing.draw(scene)
        element.dataset.tick = String(frame.tick)
        element.dataset.drawMs = drawing.lastDrawMs.toFixed(2)
        element.dataset.decodeMs = frames.decodeMs.toFixed(2)
        element.dataset.kept = `${frames.kept.ticks} ticks, ${frames.kept.bytes} bytes`
        drawn.value++
      })
    })
    return () => {
      cancelAnimationFrame(animation)
      end()
    }
  }, [stage, plane])

  const looked = stage.looked.value
  const frame = stage.frame.value
  const describe = (cell: Spot, whole: Frame): string => {
    const part = detail.part.value
    const place = part && placeIn(part, cell, stage.world)
    const seen = place ? part.frame : whole
    const at = place ? place.y * seen.width + place.x : indexIn(whole, stage.world, cell)
    return cellText(cell, seen, at, metadata.moleculeTypes, plane, run.interval.value)
  }
  const text = looked && frame ? describe(looked, frame) : ''
  return (
    <div class="world-view">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`World at tick ${run.shown.value}. ${stamp.value > 0 ? `${organisms.value.length} organisms alive. ` : ''}Press i for a cell cursor.`}
      />
      {frame === undefined && trouble.value === undefined && <Waiting />}
      <PlanePicker shape={shape} plane={plane} />
      <p
        class="world-cell mono"
        aria-hidden={hasCursor.value ? undefined : 'true'}
        aria-live={hasCursor.value ? 'polite' : 'off'}
      >
        {text}
      </p>
      <Legend
        isKnown={stamp.value > 0}
        scheme={scheme.value}
        types={metadata.moleculeTypes}
        lineages={lineages.sizes}
        picked={picked.value}
        pick={lineage => replaceQuery({ l: lineage === undefined ? null : String(lineage) })}
      />
      {frame !== undefined && detail.part.value === undefined && <Reduced frame={frame} world={stage.world} />}
      <TroubleBanner run={run} trouble={trouble.value} />
      {props.children}
      <div class="world-corner">
        {stage.showsMinimap.value && stage.isPartial.value && plane.y !== undefined && (
          <Minimap stage={stage} image={() => view.current?.image} drawn={drawn} />
        )}
        <div class="world-zoom row">
          <button type="button" aria-label="Zoom in" onClick={() => stage.zoom(1.5)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => stage.zoom(1 / 1.5)}>
            −
          </button>
          <button type="button" onClick={() => stage.fit()}>
            Fit
          </button>
        </div>
      </div>
    </div>
  )
}

/** Before the first tick is loaded, in place of a canvas without a picture. */
function Waiting() {
  return useLate() ? (
    <p class="world-waiting" role="status">
      Loading the world…
    </p>
  ) : null
}

/** Of a world that is too large to be drawn cell by cell. */
function Reduced({ frame, world }: { frame: Frame; world: Size }) {
  const cells = Math.round((world.width / frame.width) * (world.height / frame.height))
  if (cells <= 1) return null
  return <p class="world-reduced small">showing 1 of {cells} cells</p>
}

const tables = new Map<string, Uint32Array>()
function tableOf(scheme: Scheme, dark: boolean, slot: number | undefined): Uint32Array {
  const name = `${scheme} ${dark} ${slot}`
  const table = tables.get(name) ?? colourTable(scheme, { isDark: dark, picked: slot })
  tables.set(name, table)
  return table
}

let slots = ownerSlots(1023)
function ownersUpTo(length: number): Uint8Array {
  if (slots.length < length) slots = ownerSlots(length - 1)
  return slots
}

function watchSize(element: HTMLCanvasElement | null, stage: Stage): (() => void) | undefined {
  if (element === null) return undefined
  const observer = new ResizeObserver(() => {
    const { width, height } = element.getBoundingClientRect()
    element.width = Math.round(width * devicePixelRatio)
    element.height = Math.round(height * devicePixelRatio)
    stage.resized({ width, height })
  })
  observer.observe(element)
  return () => observer.disconnect()
}
