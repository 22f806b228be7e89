import { pushQuery, query } from '../address.ts'
import { count, plural } from '../format.ts'
import { at, get, write } from '../http.ts'
import { overview } from '../live.ts'
import type { StoredMessage } from '../messages/stored-message.ts'
import { summaryOf } from '../messages/stored-message.ts'
import { Age } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { useLoaded } from '../parts/load.ts'
import { Mark } from '../parts/mark.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'

type Letter = StoredMessage & {
  readonly group: string
  readonly attempts: number
  readonly error: { readonly name: string; readonly message: string }
  readonly deadAt: string
}

/** Dead letters, with one line per kind of error. */
export function DeadLettersScreen() {
  const found = overview.value
  if (found === undefined) return <Loading rows={6} />
  const topics = found.topics.filter(({ groups }) => groups.some(({ deadLetters }) => deadLetters > 0))
  const topic = query.value.get('topic')
  const shown = topic === null ? topics : topics.filter(each => each.topic === topic)
  return (
    <div class="stack">
      <div class="row spread">
        <h1>Dead letters</h1>
        {topic !== null && (
          <button type="button" onClick={() => pushQuery({ topic: null, group: null })}>
            All topics
          </button>
        )}
      </div>
      {shown.length === 0 ? (
        <Empty title="No dead letters">
          <Mark kind="ok" word="healthy">
            A message comes here when its last attempt has failed.
          </Mark>
        </Empty>
      ) : (
        shown.map(each => <TopicLetters key={each.topic} topic={each.topic} />)
      )}
    </div>
  )
}

function TopicLetters({ topic }: { topic: string }) {
  const group = query.value.get('group')
  const place = `${at('topics', topic)}/dead-letters`
  const letters = useLoaded(
    signal =>
      get<{ deadLetters: Letter[]; next: number | null }>(place, {
        signal,
        query: { limit: 500, ...(group && { group }) },
      }),
    [topic, group],
    5_000,
  )
  if (letters.error.value !== undefined) return <Failed error={letters.error.value} retry={letters.reload} />
  const all = letters.value.value?.deadLetters
  if (all === undefined) return <Loading rows={3} />
  const byError = [...Map.groupBy(all, letter => `${letter.group}\n${fingerprint(letter.error)}`).values()]
  return (
    <section class="panel stack" aria-label={`Dead letters of ${topic}`}>
      <h2>{topic}</h2>
      {byError.map(same => {
        const [first] = same
        if (first === undefined) return null
        const ids = same.map(({ id }) => id)
        const last = same.at(-1) ?? first
        return (
          <details key={`${first.group} ${fingerprint(first.error)}`}>
            <summary class="row spread">
              <span class="row">
                <Mark kind="bad" word="failed">
                  <strong>
                    {first.error.name}: {first.error.message}
                  </strong>
                </Mark>
                <span class="muted">{first.group}</span>
              </span>
              <span class="row">
                <span>{count(same.length)}</span>
                <Age at={last.deadAt} />
                <ActionButton
                  label={`Redrive ${count(same.length)}`}
                  needs="operate"
                  topic={topic}
                  text={`${plural(same.length, 'message')} ${same.length === 1 ? 'returns' : 'return'} to ${first.group || 'the queue'} with all attempts.`}
                  run={async () => {
                    const { redriven, gone } = await redrive(place, ids)
                    letters.reload()
                    return `Redrove ${plural(redriven, 'message')}.${gone > 0 ? ` ${count(gone)} were cleaned up before.` : ''}`
                  }}
                />
                <ActionButton
                  label={`Discard ${count(same.length)}`}
                  needs="operate"
                  topic={topic}
                  danger
                  typed={String(same.length)}
                  text={`${plural(same.length, 'dead letter')} ${same.length === 1 ? 'is' : 'are'} deleted for good.`}
                  run={async () => {
                    await write('POST', `${place}/discard`, { ids })
                    letters.reload()
                    return `Discarded ${plural(same.length, 'dead letter')}.`
                  }}
                />
              </span>
            </summary>
            <ScrollBox label="Table of dead letters">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Message</th>
                    <th scope="col">Key</th>
                    <th scope="col" class="number">
                      Attempts
                    </th>
                    <th scope="col">Died</th>
                    <th scope="col">Payload</th>
                  </tr>
                </thead>
                <tbody>
                  {same.slice(0, 50).map(letter => (
                    <tr key={letter.id}>
                      <td class="mono">{letter.id}</td>
                      <td>{letter.key ?? '–'}</td>
                      <td class="number">{letter.attempts}</td>
                      <td>
                        <Age at={letter.deadAt} />
                      </td>
                      <td class="mono truncate payload">{summaryOf(letter)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollBox>
          </details>
        )
      })}
    </section>
  )
}

const redrive = (place: string, ids: readonly number[]): Promise<{ redriven: number; gone: number }> =>
  write('POST', `${place}/redrive`, { ids })

/** Error name and message without digits, ids and quoted text, so that similar errors share a line. */
const fingerprint = ({ name, message }: Letter['error']): string =>
  `${name}: ${message.replaceAll(/(["'`]).*?\1/g, '…').replaceAll(/[0-9a-f]{8,}|\d+/gi, '#')}`
