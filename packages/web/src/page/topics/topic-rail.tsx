import { topicAddress } from '../address.ts'
import { count, rate } from '../format.ts'
import { overview } from '../live.ts'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import type { TopicLive } from '../shapes.ts'
import { lagOf } from './topics-order.ts'

/** Longer lists are the business of the screen of topics. */
const MOST = 100

/** All topics beside the one that is looked at, on screens that have room for both. */
export function TopicRail({ shown }: { shown: string }) {
  const topics = overview.value?.topics ?? []
  return (
    <nav class="panel rail" aria-label="Topics">
      <h2>
        <a href="/topics">Topics</a>
      </h2>
      <ul>
        {topics.slice(0, MOST).map(topic => (
          <li key={topic.topic}>
            <a href={topicAddress(topic.topic)} aria-current={topic.topic === shown ? 'page' : undefined}>
              <Mark kind={worst(topic)} word={worst(topic)}>
                <span class="truncate" title={topic.topic}>
                  {topic.topic}
                </span>
              </Mark>
              <span class="muted small number">
                {rate(topic.publishedPerSecond)}/s{lagOf(topic) > 0 && ` · ${count(lagOf(topic))}`}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {topics.length > MOST && <a href="/topics">and {count(topics.length - MOST)} more</a>}
    </nav>
  )
}

/** The state of the group that needs somebody most. */
function worst({ groups }: TopicLive) {
  const kinds = new Set(groups.map(kindOfGroup))
  return (['bad', 'warning', 'paused', 'ok'] as const).find(kind => kinds.has(kind)) ?? 'off'
}
