import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { runAddress } from '../address.ts'
import { count, moment } from '../format.ts'
import { at, get } from '../http.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import type { RunDetails } from './run-shapes.ts'

/** Runs, newest first. */
export function RunsScreen() {
  const runs = useSignal<readonly RunDetails[] | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const load = (): void => {
    error.value = undefined
    get<{ runs: string[] }>('/runs', { query: { limit: 100 } })
      .then(({ runs: ids }) => Promise.all(ids.toReversed().map(id => get<RunDetails>(at('runs', id)))))
      .then(
        found => {
          runs.value = found
        },
        failure => {
          error.value = failure
        },
      )
  }
  useEffect(load, [])
  if (error.value !== undefined) return <Failed error={error.value} retry={load} />
  if (runs.value === undefined) return <Loading rows={6} />
  if (runs.value.length === 0)
    return (
      <Empty isWhole title="No worlds yet" command="npm start">
        A run appears here as soon as the first ticks of a simulation are indexed.
      </Empty>
    )
  return (
    <div class="stack">
      <h1>Worlds</h1>
      <ul class="cards">
        {runs.value.map(({ runId, metadata, indexed: { environment } }) => (
          <li key={runId}>
            <a class="panel card stack" href={runAddress(runId)}>
              <strong class="truncate">{metadata?.seed || runId}</strong>
              <span class="muted">
                {metadata === null
                  ? 'no metadata yet'
                  : `${metadata.environment.shape.join(' × ')} ${metadata.environment.topology}`}
              </span>
              <span>{environment === null ? 'nothing indexed yet' : `${count(environment.ticks)} ticks`}</span>
              <span class="muted small">{metadata && moment(new Date(metadata.startedAt), 'local')}</span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}
