import { at, get, Problem, write } from '../http.ts'
import { Age, atNow } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { useLoaded } from '../parts/load.ts'
import type { Backfill, GroupLive, TopicLive } from '../shapes.ts'
import { backfillText, progressWords } from './group-texts.ts'

type Verb = 'start' | 'cancel' | 'resume'
const DONE: { readonly [verb in Verb]: string } = { start: 'Started', cancel: 'Cancelled', resume: 'Resumed' }

/** Progress, rate and remaining time of a backfill. Only a reference topic has backfills. */
export function BackfillPanel({ topic, group }: { topic: TopicLive; group: GroupLive }) {
  const place = `${at('topics', topic.topic, 'groups', group.group)}/backfill`
  const isPossible = topic.config.tracking === 'reference'
  const loaded = useLoaded(
    signal => (isPossible ? get<Backfill>(place, { signal }).catch(orNone) : Promise.resolve(null)),
    [place, isPossible, group.backfill?.status],
    isPossible ? 1_000 : undefined,
  )
  if (!isPossible || group.status === 'CANCELLED') return null
  const found = loaded.value.value ?? group.backfill
  const status = found?.status
  const act = (verb: Verb) => async (): Promise<string> => {
    await write('POST', verb === 'start' ? place : `${place}/${verb}`)
    loaded.reload()
    return `${DONE[verb]} the backfill of ${group.group || topic.topic}${atNow()}.`
  }
  const button = (verb: Verb, label: string) => (
    <ActionButton
      label={label}
      title={`${label} of ${group.group || topic.topic}`}
      confirm={label}
      needs="operate"
      topic={topic.topic}
      text={backfillText(verb, found?.processed ?? 0)}
      run={act(verb)}
    />
  )
  return (
    <section class="panel row spread" aria-label="Backfill">
      <div class="row backfill">
        <h2>Backfill</h2>
        {found === null || found === undefined ? (
          <span class="muted">none yet</span>
        ) : (
          <>
            <progress max={1} value={found.progress} aria-label="Progress of the backfill" />
            <span>{progressWords(found)}</span>
            {status !== 'RUNNING' && found.endedAt != null && (
              <span class="muted small">
                <Age at={found.endedAt} />
              </span>
            )}
          </>
        )}
      </div>
      <div class="row">
        {status === 'RUNNING' && button('cancel', 'Cancel backfill')}
        {(status === 'CANCELLED' || status === 'FAILED') && button('resume', 'Resume backfill')}
        {status !== 'RUNNING' && button('start', 'Start backfill')}
      </div>
    </section>
  )
}

const orNone = (failure: unknown): null => {
  if (failure instanceof Problem && failure.status === 404) return null
  throw failure
}
