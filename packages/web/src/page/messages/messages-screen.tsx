import { useSignal } from '@preact/signals'
import { pushQuery, query, topicAddress } from '../address.ts'
import { clock, count } from '../format.ts'
import { at, get } from '../http.ts'
import { topicNamed } from '../live.ts'
import { useLoaded } from '../parts/load.ts'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { times } from '../preferences.ts'
import { Inspector } from './inspector.tsx'
import { PublishDialog } from './publish-dialog.tsx'
import { type StoredMessage, summaryOf } from './stored-message.ts'
import { useTail } from './tail.ts'

type Page = { readonly messages: readonly StoredMessage[]; readonly next: number | null }

const LIMIT = 50

/** Browsing never consumes. Filters are in the address. */
export function MessagesScreen({ topic }: { topic: string }) {
  const given = query.value
  const order = given.get('order') === 'oldest' ? 'oldest' : 'newest'
  const [key, type, since, from] = [given.get('key'), given.get('type'), given.get('since'), given.get('from')]
  const isTailing = useSignal(false)
  const page = useLoaded(
    signal =>
      get<Page>(`${at('topics', topic)}/messages`, {
        signal,
        query: {
          order: `${order}-first`,
          limit: LIMIT,
          ...(key && { key }),
          ...(type && { type }),
          ...(since && { since: new Date(since).toISOString() }),
          ...(from && { [order === 'newest' ? 'before' : 'after']: Number(from) }),
        },
      }),
    [topic, order, key, type, since, from],
  )
  const tailed = useTail(topic, isTailing.value)
  const messages = isTailing.value ? tailed.messages.value : page.value.value?.messages
  const selected = messages?.find(({ id }) => String(id) === given.get('m'))
  return (
    <div class="stack">
      <div class="row spread">
        <h1>
          <a href={topicAddress(topic)}>{topic}</a> messages
        </h1>
        <div class="row">
          <button
            type="button"
            aria-pressed={isTailing.value}
            onClick={() => {
              isTailing.value = !isTailing.value
            }}
          >
            {isTailing.value ? 'Stop the tail' : 'Tail'}
          </button>
          <PublishDialog topic={topic} published={page.reload} />
        </div>
      </div>
      {!isTailing.value && <Filters order={order} type={type} />}
      {isTailing.value && tailed.error.value !== '' && <p class="warning">{tailed.error}</p>}
      {page.error.value !== undefined && !isTailing.value ? (
        <Failed error={page.error.value} retry={page.reload} />
      ) : messages === undefined ? (
        <Loading rows={10} />
      ) : (
        <div class="browse">
          <div class={page.isLoading.value && !isTailing.value ? 'dimmed' : ''}>
            <ScrollBox label="Messages" panel>
              {messages.length === 0 ? (
                <Nothing topic={topic} isTailing={isTailing.value} />
              ) : (
                <List messages={messages} selected={selected} />
              )}
              {!isTailing.value && page.value.value?.next != null && (
                <button type="button" onClick={() => pushQuery({ from: String(page.value.value?.next) })}>
                  {order === 'newest' ? 'Older' : 'Newer'}
                </button>
              )}
            </ScrollBox>
          </div>
          {selected && <Inspector topic={topic} message={selected} />}
        </div>
      )}
    </div>
  )
}

function Filters({ order, type }: { order: string; type: string | null }) {
  const given = (name: string) => ({
    value: query.value.get(name) ?? '',
    onChange: (event: { currentTarget: HTMLInputElement }) =>
      pushQuery({ [name]: event.currentTarget.value, from: null }),
  })
  return (
    <div class="row">
      <label class="row">
        <span class="offscreen">Order</span>
        <select value={order} onChange={event => pushQuery({ order: event.currentTarget.value, from: null })}>
          <option value="newest">newest first</option>
          <option value="oldest">oldest first</option>
        </select>
      </label>
      <label class="row">
        <span class="muted">key</span>
        <input type="search" {...given('key')} />
      </label>
      <label class="row">
        <span class="muted">type</span>
        <input type="search" {...given('type')} />
      </label>
      <label class="row">
        <span class="muted">since</span>
        <input type="datetime-local" step="1" {...given('since')} />
      </label>
      {(type !== null || query.value.get('key') || query.value.get('since') || query.value.get('from')) && (
        <button
          type="button"
          class="plain"
          onClick={() => pushQuery({ key: null, type: null, since: null, from: null })}
        >
          Clear
        </button>
      )}
    </div>
  )
}

/** An empty result says what was searched. */
function Nothing({ topic, isTailing }: { topic: string; isTailing: boolean }) {
  const kept = topicNamed(topic)?.kept ?? 0
  if (isTailing) return <Empty title="Waiting for the next message">What is published from now on appears here.</Empty>
  const words = ['key', 'type', 'since'].flatMap(name => {
    const value = query.value.get(name)
    return value === null ? [] : [`${name} ${value}`]
  })
  if (words.length > 0) return <Empty title={`None of the ${count(kept)} retained messages has ${words.join(', ')}`} />
  return (
    <Empty
      title="No message is retained"
      command={`curl -X POST ${location.origin}/api/v1/topics/${topic}/messages -H 'content-type: application/json' -d '{"payload":{"hello":"world"}}'`}
    >
      Messages appear here when a program publishes them.
    </Empty>
  )
}

function List({ messages, selected }: { messages: readonly StoredMessage[]; selected: StoredMessage | undefined }) {
  const zone = times.value === 'utc' ? 'utc' : 'local'
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Id</th>
          <th scope="col">Time</th>
          <th scope="col">Key</th>
          <th scope="col">Type</th>
          <th scope="col">Payload</th>
        </tr>
      </thead>
      <tbody>
        {messages.map(message => (
          <tr
            key={message.id}
            class="link"
            aria-selected={message === selected}
            onClick={() => pushQuery({ m: String(message.id) })}
          >
            <td class="mono">
              <button type="button" class="plain mono" onClick={() => pushQuery({ m: String(message.id) })}>
                {message.id}
              </button>
            </td>
            <td class="mono">{clock(new Date(message.createdAt), zone)}</td>
            <td>{message.key ?? '–'}</td>
            <td class="muted">{message.type.slice(message.type.lastIndexOf('.') + 1)}</td>
            <td class="mono truncate payload">{summaryOf(message)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
