import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { pushQuery, query, replaceQuery, topicAddress } from '../address.ts'
import { copy } from '../copy.ts'
import { bytes, moment } from '../format.ts'
import { Failed, Loading } from '../parts/states.tsx'
import { zone } from '../parts/zone.ts'
import { LongText } from './long-text.tsx'
import { type StoredMessage, shortType } from './stored-message.ts'
import { loadMessage } from './use-browse.ts'
import { sizeOf, type View, viewsOf } from './views.ts'
import { WhoHasDoneIt } from './who-has-done-it.tsx'

type Tab = View['name'] | 'Payload' | 'Headers' | 'Who has done it'

/** An answer of the server has at most 16 MiB. */
const MOST_LOADED = 16_000_000

/** One message: its payload in several views, its headers, and which groups are past it. */
export function Inspector({ topic, id, known }: { topic: string; id: number; known: StoredMessage | undefined }) {
  const message = useSignal(known)
  const isAll = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const isMissing = useSignal(false)
  const again = useSignal(0)
  useEffect(() => {
    if (message.peek() !== undefined && !isAll.value) return
    const abort = new AbortController()
    error.value = undefined
    loadMessage(topic, id, isAll.value, abort.signal)
      .then(found => {
        if (found !== undefined) message.value = found
        isMissing.value = found === undefined
      })
      .catch(failure => {
        if (!abort.signal.aborted) error.value = failure
      })
    return () => abort.abort()
  }, [isAll.value, again.value])
  const found = message.value
  return (
    <section class="panel inspector" aria-label={`Message ${id} of ${topic}`}>
      <div class="row spread">
        <h2>
          {id} {found && <span class="muted small">{shortType(found)}</span>}
        </h2>
        <button
          type="button"
          class="plain"
          aria-label="Close"
          title="Close (Esc)"
          onClick={() => pushQuery({ m: null })}
        >
          ×
        </button>
      </div>
      {error.value !== undefined && (
        <Failed
          error={error.value}
          retry={() => {
            again.value++
          }}
        />
      )}
      {isMissing.value && (
        <p class="muted">
          Message {id} is not kept any more, or never was.{' '}
          <a href={`${topicAddress(topic)}/messages`}>Newest messages</a>
        </p>
      )}
      {found !== undefined ? (
        <Body
          topic={topic}
          message={found}
          isAll={isAll.value}
          loadAll={() => {
            isAll.value = true
          }}
        />
      ) : (
        error.value === undefined && !isMissing.value && <Loading rows={6} />
      )}
    </section>
  )
}

function Body({
  topic,
  message,
  isAll,
  loadAll,
}: {
  topic: string
  message: StoredMessage
  isAll: boolean
  loadAll(): void
}) {
  const views = viewsOf(message)
  const headers = Object.entries(message.headers)
  const names: readonly Tab[] = views.length === 0 ? ['Payload'] : views.map(({ name }) => name)
  const tabs: readonly Tab[] = [...names, 'Headers', 'Who has done it']
  const wanted = query.value.get('view') as Tab | null
  const tab = wanted !== null && tabs.includes(wanted) ? wanted : (tabs[0] ?? 'Headers')
  const view = views.find(({ name }) => name === tab)
  const isPayload = tab !== 'Headers' && tab !== 'Who has done it'
  return (
    <>
      <dl class="pairs small">
        <dt>messageId</dt>
        <dd class="mono">{message.messageId}</dd>
        <dt>key</dt>
        <dd class="mono">{message.key ?? '–'}</dd>
        <dt>type</dt>
        <dd class="mono">{message.decoded?.type ?? message.type}</dd>
        <dt>published</dt>
        <dd>{moment(new Date(message.createdAt), zone())}</dd>
        <dt>size</dt>
        <dd>{bytes(sizeOf(message))}</dd>
      </dl>
      <div class="row spread">
        <div class="tabs" role="tablist" aria-label="Views of the message" onKeyDown={stepTabs}>
          {tabs.map(each => (
            <button
              key={each}
              type="button"
              role="tab"
              aria-selected={each === tab}
              tabIndex={each === tab ? 0 : -1}
              onClick={() => replaceQuery({ view: each === tabs[0] ? null : each })}
            >
              {each}
              {each === 'Headers' && headers.length > 0 && ` ${headers.length}`}
            </button>
          ))}
        </div>
        {view !== undefined && (
          <button type="button" class="plain" onClick={() => void copy(view.text, 'the payload')}>
            Copy
          </button>
        )}
      </div>
      <div role="tabpanel" aria-label={tab} class="stack">
        {view !== undefined && <LongText text={view.text} isMono />}
        {isPayload && message.payloadTruncated === true && !isAll && sizeOf(message) <= MOST_LOADED && (
          <div class="row">
            <button type="button" onClick={loadAll}>
              Load all {bytes(sizeOf(message))}
            </button>
            {view !== undefined && <span class="muted small">The first 4 kB are shown.</span>}
          </div>
        )}
        {isPayload && views.length === 0 && (isAll || sizeOf(message) > MOST_LOADED) && (
          <p class="muted">
            The payload of {bytes(sizeOf(message))} is larger than the server sends to a page. A consumer gets it whole.
          </p>
        )}
        {tab === 'Headers' && <Headers headers={headers} />}
        {tab === 'Who has done it' && <WhoHasDoneIt topic={topic} message={message} />}
      </div>
    </>
  )
}

function Headers({ headers }: { headers: readonly (readonly [string, string])[] }) {
  if (headers.length === 0) return <p class="muted">This message has no headers.</p>
  return (
    <dl class="pairs small">
      {headers.map(([name, value]) => (
        <>
          <dt class="mono">{name}</dt>
          <dd class="mono">{value}</dd>
        </>
      ))}
    </dl>
  )
}

/** Arrows walk through tabs, as in every list of tabs. */
function stepTabs(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (by === 0) return
  const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')]
  const next = tabs[(tabs.indexOf(document.activeElement as HTMLElement) + by + tabs.length) % tabs.length]
  next?.focus()
  next?.click()
  event.preventDefault()
}
