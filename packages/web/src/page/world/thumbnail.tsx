import { useEffect, useRef } from 'preact/hooks'
import { isDark } from './dark.ts'
import { kindsOf } from './kinds.ts'
import { Lineages } from './lineages.ts'
import { paintFrame } from './paint.ts'
import { colourTable } from './palette.ts'
import type { Frame } from './plane.ts'
import type { RunFacts } from './run-shapes.ts'
import { loadTile } from './tiles.ts'

const WIDTH = 320
const HEIGHT = 200
const LIVE_MS = 5_000

/** The last tick of a run, in its lineages' colours. */
export function Thumbnail({ run: { runId, live, ticks, moleculeTypes } }: { run: RunFacts }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const tick = ticks?.last
  const dark = isDark()
  // A live run has a new tick every second; its picture changes less often.
  const turn = live ? Math.floor(Date.now() / LIVE_MS) : tick
  useEffect(() => {
    const element = canvas.current
    if (element === null || tick === undefined) return
    const abort = new AbortController()
    const draw = (): void => {
      loadTile({ runId, tick, width: WIDTH, height: HEIGHT }, 'lineage', abort.signal).then(
        frame => paint(element, frame, moleculeTypes, dark),
        () => undefined, // Without a picture the card still says what the world is.
      )
    }
    // Only visible cards are drawn: a list may have a hundred.
    const observer = new IntersectionObserver(entries => {
      if (!entries.some(entry => entry.isIntersecting)) return
      observer.disconnect()
      draw()
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      abort.abort()
    }
  }, [runId, turn, tick === undefined, dark])
  return <canvas ref={canvas} class="thumbnail" width={WIDTH} height={HEIGHT} />
}

/** Owners of this frame are lineages; the largest by the number of their cells have the colours. */
function paint(element: HTMLCanvasElement, frame: Frame, types: readonly string[], dark: boolean): void {
  const context = element.getContext('2d')
  if (context === null || frame.width === 0) return
  const lineages = new Lineages()
  lineages.update(
    Array.from(
      frame.owner.filter(owner => owner > 0),
      owner => ({ id: owner, lineage: owner, isDead: false }),
    ),
  )
  element.width = frame.width
  element.height = frame.height
  const image = context.createImageData(frame.width, frame.height)
  const look = { table: colourTable('lineage', { isDark: dark }), kinds: kindsOf(types), slots: lineages.owners }
  paintFrame(frame, look, 1, new Uint32Array(image.data.buffer))
  context.putImageData(image, 0, 0)
}
