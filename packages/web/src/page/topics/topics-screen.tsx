import { goTo, groupAddress, pushQuery, query, replaceQuery, topicAddress } from '../address.ts'
import { bytes, count, rate, whole } from '../format.ts'
import { overview } from '../live.ts'
import { Age } from '../parts/age.tsx'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import type { TopicLive } from '../shapes.ts'

const lagOf = ({ groups }: TopicLive): number => groups.reduce((sum, { lagMessages }) => sum + lagMessages, 0)

const SORTS: { readonly [name: string]: (one: TopicLive, other: TopicLive) => number } = {
  name: (one, other) => (one.topic < other.topic ? -1 : 1),
  lag: (one, other) => lagOf(other) - lagOf(one),
  rate: (one, other) => other.publishedPerSecond - one.publishedPerSecond,
  kept: (one, other) => other.kept - one.kept,
  size: (one, other) => (other.bytes ?? 0) - (one.bytes ?? 0),
}

export function TopicsScreen() {
  const found = overview.value
  if (found === undefined) return <Loading rows={10} />
  const words = (query.value.get('q') ?? '').trim()
  const sort = query.value.get('sort') ?? 'name'
  const shown = found.topics
    .filter(({ topic, groups }) => topic.includes(words) || groups.some(({ group }) => group.includes(words)))
    .toSorted(SORTS[sort] ?? SORTS.name)
  return (
    <div class="stack">
      <div class="row spread">
        <h1>Topics</h1>
        <div class="row">
          <input
            type="search"
            placeholder="Filter"
            aria-label="Filter topics"
            value={words}
            onInput={event => replaceQuery({ q: event.currentTarget.value })}
          />
          <label class="row">
            <span class="muted">Sort by</span>
            <select value={sort} onChange={event => pushQuery({ sort: event.currentTarget.value })}>
              {Object.keys(SORTS).map(name => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </div>
      </div>
      {shown.length === 0 ? (
        <Empty
          title={words === '' ? 'No topics yet' : `None of the ${count(found.topics.length)} topics matches “${words}”`}
        />
      ) : (
        <ScrollBox label="Table of topics" panel>
          <table>
            <thead>
              <tr>
                <th scope="col">Topic</th>
                <th scope="col" class="number">
                  In/s
                </th>
                <th scope="col" class="number">
                  Kept
                </th>
                <th scope="col" class="number">
                  Size
                </th>
                <th scope="col">Oldest</th>
                <th scope="col" class="number">
                  Lag
                </th>
                <th scope="col">Groups</th>
              </tr>
            </thead>
            <tbody class="values">
              {shown.map(topic => (
                <TopicRow key={topic.topic} {...topic} />
              ))}
            </tbody>
          </table>
        </ScrollBox>
      )}
    </div>
  )
}

function TopicRow(topic: TopicLive) {
  const lag = lagOf(topic)
  return (
    <tr class="link" onClick={event => (event.target as Element).closest('a') ?? goTo(topicAddress(topic.topic))}>
      <td>
        <a href={topicAddress(topic.topic)}>{topic.topic}</a>
      </td>
      <td class="number">{rate(topic.publishedPerSecond)}</td>
      <td class="number" title={whole(topic.kept)}>
        {count(topic.kept)}
      </td>
      <td class="number">{topic.bytes === null ? '–' : bytes(topic.bytes)}</td>
      <td>
        <Age at={topic.oldestAt} />
      </td>
      <td class="number" title={whole(lag)}>
        {count(lag)}
      </td>
      <td>
        <span class="row">
          {topic.groups.map(group => (
            <a key={group.group} href={groupAddress(topic.topic, group.group)}>
              <Mark
                kind={kindOfGroup(group)}
                word={`${group.group || 'queue'}: ${group.status}, lag ${whole(group.lagMessages)}`}
              />
            </a>
          ))}
        </span>
      </td>
    </tr>
  )
}
