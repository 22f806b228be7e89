import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { runAddress } from '../address.ts'
import { plural, whole } from '../format.ts'
import { at } from '../http.ts'
import { Mark } from '../parts/mark.tsx'
import { shownTheme } from '../preferences.ts'
import type { RunFacts } from '../world/run-shapes.ts'

/** Time between two pictures of a growing world. */
const EVERY_MS = 5_000
const SIZE = { width: 320, height: 200 } as const

/** The newest run as a picture, with its tick and the number of organisms. */
export function WorldThumbnail({ run }: { run: RunFacts }) {
  const tick = run.ticks?.last
  const drawn = useSignal(tick)
  const isMissing = useSignal(false)
  useEffect(() => {
    const timer = setTimeout(
      () => {
        drawn.value = tick
      },
      drawn.peek() === undefined ? 0 : EVERY_MS,
    )
    return () => clearTimeout(timer)
  }, [drawn.value === tick, run.runId])
  return (
    <a class="panel world-thumbnail" href={runAddress(run.runId)}>
      <div class="row spread">
        <h2>World</h2>
        <Mark kind={run.live ? 'ok' : 'off'} word={run.live ? 'live' : 'ended'}>
          {run.live ? 'live' : 'ended'}
        </Mark>
      </div>
      {drawn.value !== undefined && !isMissing.value && (
        <img
          src={pictureOf(run.runId, drawn.value)}
          width={SIZE.width}
          height={SIZE.height}
          alt={`The world at tick ${drawn.value}`}
          onError={() => {
            isMissing.value = true
          }}
        />
      )}
      <span class="values">
        {tick === undefined ? 'nothing indexed yet' : `tick ${whole(tick)}`}
        {run.alive !== null && ` · ${whole(run.alive)} alive`}
      </span>
      {run.shape !== null && <span class="muted small">{run.shape.join(' × ')} cells</span>}
      {run.seed !== null && <span class="muted small truncate">seed {run.seed}</span>}
      {run.gaps > 0 && <span class="small">{plural(run.gaps, 'gap')}</span>}
    </a>
  )
}

const pictureOf = (runId: string, tick: number): string =>
  `/api/v1${at('runs', runId, 'environment', tick)}/tile.png?size=${SIZE.width},${SIZE.height}&plane=lineage&theme=${shownTheme()}`
