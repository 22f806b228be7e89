import { pushQuery, query, topicAddress } from '../address.ts'
import { bytes, count, duration, plural, rate, whole } from '../format.ts'
import { overview, topicNamed } from '../live.ts'
import { PublishDialog } from '../messages/publish-dialog.tsx'
import { Age } from '../parts/age.tsx'
import { Fact, Facts } from '../parts/facts.tsx'
import { LoadingScreen } from '../parts/skeleton.tsx'
import { Sparkline, trend } from '../parts/sparkline.tsx'
import { Empty } from '../parts/states.tsx'
import type { TopicLive } from '../shapes.ts'
import { NoSuchTopic } from './no-such-topic.tsx'
import { River } from './river/river.tsx'
import { SettingsPanel } from './settings-panel.tsx'
import { TopicRail } from './topic-rail.tsx'
import { useRecentRates } from './use-recent-rates.ts'

/** The log as a river with its groups as lanes, and the settings. */
export function TopicScreen({ topic: name }: { topic: string }) {
  const topic = topicNamed(name)
  if (overview.value === undefined) return <LoadingScreen name="topic" />
  if (topic === undefined) return <NoSuchTopic name={name} />
  return (
    <div class="beside">
      <TopicRail shown={name} />
      <Detail topic={topic} />
    </div>
  )
}

function Detail({ topic }: { topic: TopicLive }) {
  const name = topic.topic
  const isSetting = query.value.get('show') === 'settings'
  return (
    <div class="stack">
      <div class="row spread">
        <div class="title">
          <h1>{name}</h1>
          <span class="muted">{describe(topic)}</span>
        </div>
        <div class="row">
          <a class="button" href={`${topicAddress(name)}/messages`}>
            Messages
          </a>
          <PublishDialog topic={name} published={() => undefined} />
          <button
            type="button"
            aria-pressed={isSetting}
            onClick={() => pushQuery({ show: isSetting ? null : 'settings' })}
          >
            Settings
          </button>
        </div>
      </div>
      {isSetting && <SettingsPanel key={name} topic={topic} />}
      <Figures topic={topic} />
      <River topic={topic} />
      {topic.totals.groups === 0 && <Unsubscribed topic={topic} />}
    </div>
  )
}

const describe = ({ config: { semantics, tracking, retentionMs } }: TopicLive): string =>
  `${semantics} · ${tracking} · keeps ${retentionMs === null ? 'for ever' : duration(retentionMs)}`

function Figures({ topic }: { topic: TopicLive }) {
  const values = useRecentRates([topic.topic])(topic.topic)
  const lag = Math.max(0, ...topic.groups.map(({ lagMessages }) => lagMessages))
  return (
    <section class="panel row spread" aria-label="Figures">
      <Facts>
        <Fact name="In">{rate(topic.publishedPerSecond)}/s</Fact>
        <Fact name="Kept" title={whole(topic.kept)}>
          {count(topic.kept)}
        </Fact>
        <Fact name="Size">{topic.bytes === null ? '–' : bytes(topic.bytes)}</Fact>
        <Fact name="Oldest">
          <Age at={topic.oldestAt} />
        </Fact>
        <Fact name="Largest lag" title={whole(lag)}>
          {count(lag)}
        </Fact>
      </Facts>
      <figure class="figures-spark">
        <Sparkline values={values} says={trend(values, value => `${rate(value)}/s`)} />
        <figcaption class="muted small">in/s, last 5 min</figcaption>
      </figure>
    </section>
  )
}

/** The topic has no subscription: what happens to the messages, and how to create a first group. */
function Unsubscribed({ topic: { topic, config, kept } }: { topic: TopicLive }) {
  const keepMs = config.zeroSubscriptionRetentionMs as number | null
  return (
    <Empty title="Nobody is subscribed" command={`tidemark tail ${topic}`}>
      {plural(kept, 'message')} {kept === 1 ? 'is' : 'are'} kept{' '}
      {keepMs === null ? 'for ever' : `for ${duration(keepMs)}`}. A group appears here when a program starts one; to
      look at what comes, without a group:
    </Empty>
  )
}
