import { runAddress } from '../address.ts'
import { bytes, count, moment, whole } from '../format.ts'
import { get, Problem } from '../http.ts'
import { useLoaded } from '../parts/load.ts'
import { Mark } from '../parts/mark.tsx'
import { LoadingScreen } from '../parts/skeleton.tsx'
import { Empty, Failed } from '../parts/states.tsx'
import { times } from '../preferences.ts'
import { requireServed } from '../served.ts'
import type { RunFacts } from './run-shapes.ts'
import { Thumbnail } from './thumbnail.tsx'

const SHOWN = 60
const REFRESH_MS = 5_000

/** Runs, newest first. */
export function RunsScreen() {
  const { value, error, reload } = useLoaded(
    async signal => {
      await requireServed('runs')
      return await get<{ runs: RunFacts[]; next: string | null }>('/runs', {
        signal,
        query: { facts: true, order: 'newest', limit: SHOWN },
      })
    },
    [],
    REFRESH_MS,
  )
  const found = value.value
  if (found === undefined) {
    if (error.value instanceof Problem && error.value.code === 'TIDEMARK_NOT_SERVED') return <NotServed />
    if (error.value !== undefined)
      return (
        <div class="stack">
          <h1>Worlds</h1>
          <Failed error={error.value} retry={reload} />
        </div>
      )
    return <LoadingScreen name="runs" />
  }
  if (found.runs.length === 0)
    return (
      <div class="stack">
        <h1>Worlds</h1>
        <Empty title="No worlds yet" command="tidemark start">
          A run appears here as soon as the first ticks of a simulation are indexed.
        </Empty>
      </div>
    )
  return (
    <div class="stack">
      <h1>Worlds</h1>
      <ul class="cards">
        {found.runs.map(run => (
          <li key={run.runId}>
            <Card run={run} />
          </li>
        ))}
      </ul>
      {found.next !== null && <p class="muted small">The newest {SHOWN} runs. Older ones open by their address.</p>}
    </div>
  )
}

function Card({ run }: { run: RunFacts }) {
  const { runId, live, seed, shape, topology, ticks, alive, gaps, problem, startedAt } = run
  return (
    <a class="panel card" href={runAddress(runId)} title={runId}>
      <Thumbnail run={run} />
      <span class="row spread">
        <strong class="truncate">{seed || runId}</strong>
        {live && (
          <Mark kind="ok" word="live">
            live
          </Mark>
        )}
      </span>
      <span class="muted">{shape === null ? 'no metadata yet' : `${shape.join(' × ')} ${topology}`}</span>
      <span>
        {ticks === null ? 'nothing indexed yet' : <span title={whole(ticks.count)}>{count(ticks.count)} ticks</span>}
        {alive !== null && ` · ${count(alive)} alive`}
        {run.bytes !== null && <span class="muted"> · {bytes(run.bytes)}</span>}
      </span>
      {gaps > 0 && (
        <Mark kind="warning" word="ticks are missing">
          {count(gaps)} {gaps === 1 ? 'gap' : 'gaps'}
        </Mark>
      )}
      {problem !== null && (
        <Mark kind="bad" word="cannot be read">
          {problem}
        </Mark>
      )}
      <span class="muted small">{moment(new Date(startedAt), times.value === 'utc' ? 'utc' : 'local')}</span>
    </a>
  )
}

function NotServed() {
  return (
    <div class="stack">
      <h1>Worlds</h1>
      <Empty title="This server serves no worlds" command="tidemark serve --index sqlite:./data/index">
        It was started without the indexes of runs. <code>tidemark start</code> serves those of its own pipeline, and{' '}
        <code>tidemark serve</code> those that the option names.
      </Empty>
    </div>
  )
}
