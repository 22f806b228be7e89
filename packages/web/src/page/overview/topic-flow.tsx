import { groupAddress, topicAddress } from '../address.ts'
import { count, duration, rate, whole } from '../format.ts'
import { LeftOut } from '../parts/left-out.tsx'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import { Sparkline, trend } from '../parts/sparkline.tsx'
import type { GroupLive, TopicLive } from '../shapes.ts'
import { useRecentRates } from '../topics/use-recent-rates.ts'
import { Dots } from './dots.tsx'

const MOST_TOPICS = 12
const MOST_GROUPS = 8
const STREAM = 'M2 8H94'

/** Active topics, busiest first: incoming messages flow on to their groups. */
export function TopicFlow({ topics, omitted }: { topics: readonly TopicLive[]; omitted: number }) {
  const busy = topics
    .filter(({ totals, kept }) => totals.groups > 0 || kept > 0)
    .toSorted(
      (one, other) =>
        Math.round(other.publishedPerSecond) - Math.round(one.publishedPerSecond) || (one.topic < other.topic ? -1 : 1),
    )
    .slice(0, MOST_TOPICS)
  const rates = useRecentRates(busy.map(({ topic }) => topic))
  const groups = topics.reduce((sum, each) => sum + each.totals.groups, 0)
  return (
    <section class="panel stack" aria-labelledby="topics">
      <div class="row spread">
        <h2 id="topics">Topics</h2>
        <a href="/topics">
          Topics {whole(topics.length + omitted)} · Groups {whole(groups)}
          {omitted > 0 && '+'}
        </a>
      </div>
      <LeftOut omitted={omitted} shown={topics.length} />
      {busy.length === 0 && <p class="muted">No topic has messages or groups yet.</p>}
      <ul class="topic-flow">
        {busy.map(topic => (
          <li key={topic.topic}>
            <a class="truncate" href={topicAddress(topic.topic)} title={topic.topic}>
              {topic.topic}
            </a>
            <Sparkline values={rates(topic.topic)} says={trend(rates(topic.topic), value => `${rate(value)}/s`)} />
            <span class="number">{rate(topic.publishedPerSecond)}/s</span>
            <svg class="stream" viewBox="0 0 96 16" width="96" height="16" aria-hidden="true">
              <path d={STREAM} class="flow-line" stroke-width="1.5" />
              <Dots path={STREAM} perSecond={topic.publishedPerSecond} />
            </svg>
            <Groups topic={topic} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Groups({ topic: { topic, groups, totals } }: { topic: TopicLive }) {
  if (totals.groups === 0) return <span class="muted">nobody is subscribed</span>
  const urgent = groups.toSorted((one, other) => rank(one) - rank(other) || other.lagMessages - one.lagMessages)
  const shown = groups.length <= MOST_GROUPS ? groups : urgent.slice(0, MOST_GROUPS)
  return (
    <span class="row chips">
      {shown.map(group => (
        <a key={group.group} class="chip" href={groupAddress(topic, group.group)} data-tip={tipOf(group)}>
          <Mark kind={kindOfGroup(group)} word={group.status.toLowerCase()}>
            <span class="truncate">{group.group === '' ? 'queue' : group.group}</span>
          </Mark>
          {group.lagMessages > 0 && <span class="muted">{count(group.lagMessages)}</span>}
        </a>
      ))}
      {totals.groups > shown.length && <a href={topicAddress(topic)}>and {whole(totals.groups - shown.length)} more</a>}
    </span>
  )
}

const RANKS = { bad: 0, warning: 1, paused: 2, ok: 3, off: 4 } as const
const rank = (group: GroupLive): number => RANKS[kindOfGroup(group)]

const tipOf = ({ status, lagMessages, lagMs, consumedPerSecond }: GroupLive): string =>
  `${status.toLowerCase()}, ${rate(consumedPerSecond)}/s\nlag ${whole(lagMessages)}${lagMessages > 0 ? ` · ${duration(lagMs)}` : ''}`
