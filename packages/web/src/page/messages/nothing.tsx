import { query } from '../address.ts'
import { clock, count, moment } from '../format.ts'
import { topicNamed } from '../live.ts'
import { Empty } from '../parts/states.tsx'
import { zone } from '../parts/zone.ts'
import { type Filter, filterOf } from './filter.ts'

/** An empty result says what was searched. */
export function Nothing({ topic, next }: { topic: string; next: number | null }) {
  const found = topicNamed(topic)
  const filter = filterOf(query.value)
  const kept = found?.kept ?? 0
  const wanted = wantedWords(filter)
  if (next !== null)
    return <Empty title={`Nothing with ${wanted} found yet`}>The search stopped at message {next}.</Empty>
  if (wanted !== '' && kept > 0)
    return <Empty title={`None of the ${count(kept)} kept${sinceWords(found?.oldestAt ?? null)} has ${wanted}.`} />
  if (filter.from !== null && kept > 0) return <Empty title="Nothing further is kept." />
  return (
    <Empty
      title="No message is kept"
      command={`curl -X POST ${location.origin}/api/v1/topics/${topic}/messages -H 'content-type: application/json' -d '{"payload":{"hello":"world"}}'`}
    >
      Messages appear here when a program publishes them, or with the button Publish.
    </Empty>
  )
}

const sinceWords = (oldestAt: string | null): string => {
  if (oldestAt === null) return ''
  const oldest = new Date(oldestAt)
  const isToday = Date.now() - oldest.getTime() < 12 * 3_600_000
  return ` since ${isToday ? clock(oldest, zone()).slice(0, 5) : moment(oldest, zone()).slice(0, 16)}`
}

/** "key customer-9 and type json" */
function wantedWords({ key, type, since }: Pick<Filter, 'key' | 'type' | 'since'>): string {
  return [
    ...(key === null ? [] : [`key ${key}`]),
    ...(type === null ? [] : [`type ${type}`]),
    ...(since === null ? [] : [`a time after ${since.replace('T', ' ')}`]),
  ].join(' and ')
}
