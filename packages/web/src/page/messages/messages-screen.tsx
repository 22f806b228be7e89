import { useEffect } from 'preact/hooks'
import { pushQuery, query, replaceQuery, topicAddress } from '../address.ts'
import { whole } from '../format.ts'
import { addCommands } from '../keys.ts'
import { overview, topicNamed } from '../live.ts'
import { Failed, Loading } from '../parts/states.tsx'
import { NoSuchTopic } from '../topics/no-such-topic.tsx'
import { filterOf } from './filter.ts'
import { Filters } from './filters.tsx'
import { Inspector } from './inspector.tsx'
import { MessageTable } from './message-table.tsx'
import { Nothing } from './nothing.tsx'
import { PublishDialog } from './publish-dialog.tsx'
import type { StoredMessage } from './stored-message.ts'
import { TailView } from './tail-view.tsx'
import { type Browsed, useBrowse } from './use-browse.ts'

/** Browsing never consumes. Filters, the selected message and the tail are part of the address. */
export function MessagesScreen({ topic }: { topic: string }) {
  const given = query.value
  const filter = filterOf(given)
  const isTailing = given.get('tail') === 'on'
  const selected = /^\d{1,15}$/.exec(given.get('m') ?? '')?.[0] ?? null
  const browsed = useBrowse(topic, filter, !isTailing || selected === null)
  const messages = browsed.page.value?.messages ?? []
  useListKeys(messages, isTailing)
  const live = topicNamed(topic)
  if (overview.value !== undefined && live === undefined) return <NoSuchTopic name={topic} />
  return (
    <div class="stack">
      <div class="row spread">
        <h1>
          <a href={topicAddress(topic)}>{topic}</a> / messages
        </h1>
        <div class="row">
          <button
            type="button"
            aria-pressed={isTailing}
            onClick={() => pushQuery({ tail: isTailing ? null : 'on', from: null })}
          >
            {isTailing ? '■ Stop tail' : '▶ Tail'}
          </button>
          <PublishDialog topic={topic} published={browsed.reload} />
        </div>
      </div>
      <Filters filter={filter} types={[...new Set(messages.map(({ type }) => type))]} />
      <div class={selected === null ? 'browse' : 'browse with-inspector'}>
        <div class="stack">
          {isTailing ? (
            <TailView topic={topic} filter={filter} start={messages} isStarted={browsed.page.value !== undefined} />
          ) : (
            <Browse topic={topic} browsed={browsed} order={filter.order} from={filter.from} />
          )}
        </div>
        {selected !== null && (
          <Inspector
            key={`${topic} ${selected}`}
            topic={topic}
            id={Number(selected)}
            known={messages.find(({ id }) => String(id) === selected)}
          />
        )}
      </div>
    </div>
  )
}

function Browse({
  topic,
  browsed,
  order,
  from,
}: {
  topic: string
  browsed: Browsed
  order: string
  from: string | null
}) {
  const { page, error, isLoading, searchedTo } = browsed
  const [newer, older] = order === 'newest' ? ['Newest', 'Older'] : ['Oldest', 'Newer']
  if (error.value !== undefined) return <Failed error={error.value} retry={browsed.reload} />
  const found = page.value
  return (
    <>
      {isLoading.value && searchedTo.value !== null && (
        <p class="row" role="status">
          Searched {order === 'newest' ? 'back' : 'on'} to message {whole(searchedTo.value)}…
          <button type="button" onClick={browsed.stop}>
            Stop
          </button>
        </p>
      )}
      {found === undefined ? (
        <Loading rows={12} />
      ) : found.messages.length === 0 ? (
        <Nothing topic={topic} next={found.next} />
      ) : (
        <MessageTable messages={found.messages} isOld={isLoading.value} />
      )}
      <div class="row">
        {from !== null && (
          <button type="button" onClick={() => pushQuery({ from: null })}>
            {newer}
          </button>
        )}
        {found != null && found.next !== null && (
          <button type="button" onClick={() => pushQuery({ from: String(found.next) })}>
            {found.messages.length === 0 ? 'Search on' : older}
          </button>
        )}
      </div>
    </>
  )
}

/** j and k walk through the list, Escape closes the inspector. */
function useListKeys(messages: readonly StoredMessage[], isTailing: boolean): void {
  useEffect(() => {
    const step = (by: number): void => {
      const at = messages.findIndex(({ id }) => String(id) === query.peek().get('m'))
      const next = messages[at === -1 ? (by > 0 ? 0 : messages.length - 1) : at + by]
      if (next === undefined) return
      replaceQuery({ m: String(next.id) })
      document.querySelector(`[data-message="${next.id}"]`)?.scrollIntoView({ block: 'nearest' })
    }
    return addCommands('Messages', {
      j: ['Next message', () => step(1)],
      k: ['Previous message', () => step(-1)],
      Escape: ['Close the message', () => replaceQuery({ m: null })],
    })
  }, [messages, isTailing])
}
