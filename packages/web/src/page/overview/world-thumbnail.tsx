import { runAddress } from '../address.ts'
import { whole } from '../format.ts'
import { Mark } from '../parts/mark.tsx'
import type { RunFacts } from '../world/run-shapes.ts'

/** The newest run in short: where it is, and how many live in it. */
export function WorldThumbnail({ run }: { run: RunFacts }) {
  const tick = run.ticks?.last
  return (
    <a class="panel world-thumbnail" href={runAddress(run.runId)}>
      <div class="row spread">
        <h2>World</h2>
        <Mark kind={run.live ? 'ok' : 'off'} word={run.live ? 'live' : 'ended'}>
          {run.live ? 'live' : 'ended'}
        </Mark>
      </div>
      <span class="values">
        {tick === undefined ? 'nothing indexed yet' : `tick ${whole(tick)}`}
        {run.alive !== null && ` · ${whole(run.alive)} alive`}
      </span>
      {run.seed !== null && (
        <span class="muted small truncate">
          seed {run.seed}
          {run.shape !== null && ` · ${run.shape.join(' × ')}`}
        </span>
      )}
    </a>
  )
}
