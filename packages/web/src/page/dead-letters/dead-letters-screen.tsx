import { useEffect } from 'preact/hooks'
import { pushQuery, query } from '../address.ts'
import { whole } from '../format.ts'
import { get } from '../http.ts'
import { overview, watchInDetail } from '../live.ts'
import { useLoaded } from '../parts/load.ts'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { ErrorRow } from './error-row.tsx'
import type { ErrorKinds } from './letter-shapes.ts'

const REFRESH_MS = 3_000

/** Messages that failed for good: one line per kind of error, which opens into its letters. */
export function DeadLettersScreen() {
  const topic = query.value.get('topic') || undefined
  const group = query.value.get('group') || undefined
  const isAny = useIsAny(topic)
  const errors = useLoaded(
    signal => get<ErrorKinds>('/dead-letters/errors', { signal, query: { topic, group } }),
    [topic, group, isAny],
    REFRESH_MS,
  )
  const found = errors.value.value?.errors
  return (
    <div class="stack">
      <div class="row spread">
        <h1>Dead letters</h1>
        <LetterFilters topic={topic} group={group} />
      </div>
      {errors.error.value !== undefined ? (
        <Failed error={errors.error.value} retry={errors.reload} />
      ) : found === undefined ? (
        <Loading rows={6} />
      ) : found.length === 0 ? (
        <None topic={topic} group={group} />
      ) : (
        <ul class="stack tight">
          {found
            .toSorted((one, other) => other.lastAt.localeCompare(one.lastAt))
            .map(kind => (
              <ErrorRow
                key={`${kind.topic} ${kind.group} ${kind.fingerprint}`}
                kind={kind}
                isOpen={query.value.get('error') === kind.fingerprint}
                reload={errors.reload}
              />
            ))}
          <Beyond kinds={errors.value.value} />
        </ul>
      )}
    </div>
  )
}

/** How many the live figures know: a change of it looks anew at once. */
function useIsAny(topic: string | undefined): number {
  const topics = overview.value?.topics.filter(each => topic === undefined || each.topic === topic) ?? []
  return topics.reduce((sum, { totals }) => sum + totals.deadLetters, 0)
}

function None({ topic, group }: { topic: string | undefined; group: string | undefined }) {
  const where = [topic, group].filter(Boolean).join(' / ')
  return (
    <Empty title={where === '' ? 'No dead letters' : `${where} has no dead letters`}>
      A message comes here when its last attempt has failed.
    </Empty>
  )
}

/** Which topic, group, key and time. All of it stands in the address. */
function LetterFilters({ topic, group }: { topic: string | undefined; group: string | undefined }) {
  const topics = overview.value?.topics ?? []
  // Of a topic with very many groups, only some are known otherwise.
  useEffect(() => (topic === undefined ? undefined : watchInDetail(`topic:${topic}`)), [topic])
  const groups = topics.find(each => each.topic === topic)?.groups.filter(each => each.group !== '') ?? []
  const given = query.value
  const isFiltered = ['topic', 'group', 'key', 'since'].some(name => given.get(name))
  return (
    <div class="row filters">
      <label class="row">
        <span class="muted">topic</span>
        <select
          value={topic ?? ''}
          onChange={event => pushQuery({ topic: event.currentTarget.value, group: null, error: null })}
        >
          <option value="">all</option>
          {topics.map(each => (
            <option key={each.topic}>{each.topic}</option>
          ))}
        </select>
      </label>
      {groups.length > 0 && (
        <label class="row">
          <span class="muted">group</span>
          <select value={group ?? ''} onChange={event => pushQuery({ group: event.currentTarget.value, error: null })}>
            <option value="">all</option>
            {groups.map(each => (
              <option key={each.group}>{each.group}</option>
            ))}
          </select>
        </label>
      )}
      <label class="row">
        <span class="muted">key</span>
        <input
          type="search"
          class="mono"
          spellcheck={false}
          value={given.get('key') ?? ''}
          onChange={event => pushQuery({ key: event.currentTarget.value })}
        />
      </label>
      <label class="row">
        <span class="muted">since</span>
        <input
          type="datetime-local"
          step="1"
          value={given.get('since') ?? ''}
          onChange={event => pushQuery({ since: event.currentTarget.value })}
        />
      </label>
      {isFiltered && (
        <button
          type="button"
          class="plain"
          onClick={() => pushQuery({ topic: null, group: null, key: null, since: null })}
        >
          Clear
        </button>
      )}
    </div>
  )
}

/** What is not shown is said. */
function Beyond({ kinds }: { kinds: ErrorKinds | undefined }) {
  if (kinds === undefined || (kinds.complete && kinds.omitted === 0)) return null
  return (
    <li class="muted small">
      {!kinds.complete && `The newest ${whole(kinds.examined)} dead letters were examined. `}
      {kinds.omitted > 0 && `${whole(kinds.omitted)} further kinds are not shown.`}
    </li>
  )
}
