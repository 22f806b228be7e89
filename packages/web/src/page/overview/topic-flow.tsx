import { groupAddress, topicAddress } from '../address.ts'
import { count, rate } from '../format.ts'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import type { TopicLive } from '../shapes.ts'

const SHOWN = 12

/** Active topics, busiest first, with their groups. */
export function TopicFlow({ topics }: { topics: readonly TopicLive[] }) {
  const busy = topics
    .filter(({ groups, kept }) => groups.length > 0 || kept > 0)
    .toSorted((one, other) => other.publishedPerSecond - one.publishedPerSecond)
  if (busy.length === 0) return null
  return (
    <section class="panel stack" aria-labelledby="topics">
      <h2 id="topics">Topics</h2>
      <ul class="topic-flow">
        {busy.slice(0, SHOWN).map(topic => (
          <li key={topic.topic}>
            <a class="truncate" href={topicAddress(topic.topic)} title={topic.topic}>
              {topic.topic}
            </a>
            <span class="number">{rate(topic.publishedPerSecond)}/s</span>
            <span class="row">
              {topic.groups.map(group => (
                <a key={group.group} class="chip" href={groupAddress(topic.topic, group.group)}>
                  <Mark kind={kindOfGroup(group)} word={group.status}>
                    {group.group === '' ? 'queue' : group.group}
                    {group.lagMessages > 0 && <span class="muted"> {count(group.lagMessages)}</span>}
                  </Mark>
                </a>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
