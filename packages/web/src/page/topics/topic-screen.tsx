import { groupAddress, topicAddress } from '../address.ts'
import { bytes, count, duration, rate, whole } from '../format.ts'
import { overview, topicNamed } from '../live.ts'
import { Age } from '../parts/age.tsx'
import { Fact, Facts } from '../parts/facts.tsx'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import type { GroupLive, TopicLive } from '../shapes.ts'

/** The log as a river, its groups as lanes. */
export function TopicScreen({ topic: name }: { topic: string }) {
  const topic = topicNamed(name)
  if (overview.value === undefined) return <Loading rows={8} />
  if (topic === undefined)
    return (
      <Empty isWhole title={`There is no topic ${name}`}>
        It may have been deleted. <a href="/topics">All topics</a>
      </Empty>
    )
  const { semantics, tracking, retentionMs } = topic.config
  return (
    <div class="stack">
      <div class="row spread">
        <div class="row">
          <h1>{topic.topic}</h1>
          <span class="muted">
            {semantics} · {tracking} · keeps {retentionMs === null ? 'for ever' : duration(retentionMs)}
          </span>
        </div>
        <a href={`${topicAddress(name)}/messages`}>Messages</a>
      </div>
      <section class="panel" aria-label="Figures">
        <Facts>
          <Fact name="In">{rate(topic.publishedPerSecond)}/s</Fact>
          <Fact name="Kept" title={whole(topic.kept)}>
            {count(topic.kept)}
          </Fact>
          <Fact name="Size">{topic.bytes === null ? '–' : bytes(topic.bytes)}</Fact>
          <Fact name="Oldest">
            <Age at={topic.oldestAt} />
          </Fact>
        </Facts>
      </section>
      <section class="panel stack" aria-labelledby="lanes">
        <h2 id="lanes">Groups</h2>
        {topic.groups.length === 0 ? (
          <p class="muted">
            Nobody is subscribed. Messages are kept for{' '}
            {duration(Number(topic.config.zeroSubscriptionRetentionMs ?? 0))}.
          </p>
        ) : (
          <ul class="lanes values">
            {topic.groups.map(group => (
              <Lane key={group.group} topic={topic} group={group} />
            ))}
          </ul>
        )}
      </section>
    </div>
  )
}

/** Solid: done. Hatched: in flight. What is left is lag. */
function Lane({ topic, group }: { topic: TopicLive; group: GroupLive }) {
  const kept = Math.max(1, topic.kept)
  const lag = Math.min(1, group.lagMessages / kept)
  const held = Math.min(1 - lag, group.inFlight / kept)
  const done = 1 - lag - held
  return (
    <li>
      <a class="lane" href={groupAddress(topic.topic, group.group)}>
        <span class="lane-name truncate">
          <Mark kind={kindOfGroup(group)} word={group.status}>
            {group.group === '' ? 'queue' : group.group}
          </Mark>
        </span>
        <svg
          class={`lane-river lane-${kindOfGroup(group)}`}
          viewBox="0 0 1000 12"
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <rect width="1000" height="12" class="lane-bed" />
          <rect width={done * 1000} height="12" class="lane-done" />
          <rect x={done * 1000} width={held * 1000} height="12" class="lane-held" />
        </svg>
        <span class="lane-figures">
          lag {count(group.lagMessages)}
          {group.lagMessages > 0 && ` · ${duration(group.lagMs)}`}
          {group.inFlight > 0 && ` · ${count(group.inFlight)} in flight`}
          {group.retries > 0 && ` · ${count(group.retries)} retries`}
          {group.deadLetters > 0 && ` · ${count(group.deadLetters)} dead`}
        </span>
      </a>
    </li>
  )
}
