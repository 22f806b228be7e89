import { groupAddress } from '../address.ts'
import { Until } from '../parts/age.tsx'
import { useLoaded } from '../parts/load.ts'
import { type Kind, Mark } from '../parts/mark.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import type { GroupState, StoredMessage } from './stored-message.ts'
import { loadMessage } from './use-browse.ts'

const STATES: { readonly [state in GroupState['state']]: readonly [Kind, string] } = {
  done: ['ok', 'done'],
  'in-flight': ['paused', 'in flight'],
  retry: ['warning', 'waits for another attempt'],
  'dead-letter': ['bad', 'failed for good'],
  waiting: ['off', 'waiting'],
  'not-for-group': ['off', 'not meant for it'],
  settled: ['ok', 'done, or failed for good'],
}

/** Each group, and where the message stands in it. */
export function WhoHasDoneIt({ topic, message }: { topic: string; message: StoredMessage }) {
  const loaded = useLoaded(
    async signal => (await loadMessage(topic, message.id, false, signal))?.groups ?? [],
    [topic, message.id],
    2_000,
  )
  if (loaded.error.value !== undefined) return <Failed error={loaded.error.value} retry={loaded.reload} />
  const groups = loaded.value.value
  if (groups === undefined) return <Loading rows={3} />
  if (groups.length === 0) return <p class="muted">Nobody is subscribed.</p>
  return (
    <ul class="stack tight values">
      {groups.map(state => (
        <li key={state.group} class="row spread">
          <a class="truncate" href={groupAddress(topic, state.group)}>
            {state.group === '' ? 'queue' : state.group}
          </a>
          <span class="row">
            <More topic={topic} state={state} />
            <Mark kind={STATES[state.state][0]} word={STATES[state.state][1]}>
              {STATES[state.state][1]}
            </Mark>
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Who holds it, until when, at which attempt. */
function More({ topic, state }: { topic: string; state: GroupState }) {
  if (state.deadLetter !== null)
    return (
      <a
        class="small"
        href={`/dead-letters?topic=${encodeURIComponent(topic)}&group=${encodeURIComponent(state.group)}`}
      >
        dead letter {state.deadLetter}
      </a>
    )
  if (state.consumer === null && state.until === null) return null
  return (
    <span class="muted small">
      {[state.consumer, state.attempt === null ? null : `attempt ${state.attempt}`].filter(Boolean).join(' · ')}{' '}
      {state.until !== null && <Until at={state.until} over="due" />}
    </span>
  )
}
