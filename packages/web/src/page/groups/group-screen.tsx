import { useEffect, useRef } from 'preact/hooks'
import { topicAddress } from '../address.ts'
import { clock, count, duration, rate, whole } from '../format.ts'
import { at, get } from '../http.ts'
import { overview, topicNamed, watchInDetail } from '../live.ts'
import { Fact, Facts } from '../parts/facts.tsx'
import { useLoaded } from '../parts/load.ts'
import { kindOfGroup, Mark } from '../parts/mark.tsx'
import { OldAge } from '../parts/old-age.tsx'
import { LoadingScreen } from '../parts/skeleton.tsx'
import { Empty } from '../parts/states.tsx'
import { times } from '../preferences.ts'
import type { GroupLive, TopicLive } from '../shapes.ts'
import { NoSuchTopic } from '../topics/no-such-topic.tsx'
import { BackfillPanel } from './backfill-panel.tsx'
import { ClaimsPanel } from './claims-panel.tsx'
import { GroupActions } from './group-actions.tsx'
import type { GroupNow } from './group-shapes.ts'
import { HistoryCharts } from './history-charts.tsx'
import { MembersPanel, useMembers } from './members-panel.tsx'
import { RetriesPanel } from './retries-panel.tsx'
import { StatesPanel } from './states-panel.tsx'

const REFRESH_MS = 2_000
/** Groups of a topic in detail. */
const MOST_GROUPS = 200

/** A group that somebody else removes stays on the screen as it was last seen, and says so. */
export function GroupScreen({ topic: topicName, group: groupName }: { topic: string; group: string }) {
  const topic = topicNamed(topicName)
  const group = topic?.groups.find(each => each.group === groupName)
  const seen = useRef<{ topic: TopicLive; group: GroupLive; goneAt: number } | undefined>(undefined)
  useEffect(() => watchInDetail(`topic:${topicName}`), [topicName])
  if (overview.value === undefined) return <LoadingScreen name="group" />
  if (topic !== undefined && group !== undefined) seen.current = { topic, group, goneAt: 0 }
  // Of a topic with very many groups the first snapshot has some; the one in detail follows.
  const isPartial = topic !== undefined && topic.groups.length < Math.min(topic.totals.groups, MOST_GROUPS)
  if (seen.current === undefined && isPartial) return <LoadingScreen name="group" />
  if (seen.current === undefined && topic === undefined) return <NoSuchTopic name={topicName} />
  if (seen.current === undefined)
    return (
      <Empty isWhole title={`${topicName} has no group ${groupName === '' ? '(queue)' : groupName}`}>
        It may have been removed. <a href={topicAddress(topicName)}>{topicName}</a>
      </Empty>
    )
  const isGone = topic === undefined || group === undefined
  if (isGone && seen.current.goneAt === 0) seen.current.goneAt = Date.now()
  const what = topic === undefined ? `topic ${topicName}` : groupName || topicName
  const blocked = isGone ? `Somebody has removed ${what} meanwhile. Nothing was changed.` : undefined
  return (
    <>
      {isGone && (
        <p class="banner inset" role="alert">
          {what} was removed at {clock(new Date(seen.current.goneAt), times.value === 'utc' ? 'utc' : 'local')}. What
          you see is from before.{' '}
          <a href={topic === undefined ? '/topics' : topicAddress(topicName)}>
            Go on to {topic === undefined ? 'all topics' : topicName}
          </a>
        </p>
      )}
      <GroupView topic={seen.current.topic} group={seen.current.group} blocked={blocked} />
    </>
  )
}

function GroupView({ topic, group, blocked }: { topic: TopicLive; group: GroupLive; blocked: string | undefined }) {
  const name = group.group === '' ? 'queue' : group.group
  const place = at('topics', topic.topic, 'groups', group.group)
  const isGone = blocked !== undefined
  const members = useMembers(place, isGone)
  const now = useLoaded(signal => get<GroupNow>(place, { signal }), [place], isGone ? undefined : REFRESH_MS)
  return (
    <div class={isGone ? 'stack stale' : 'stack'}>
      <div class="row spread">
        <div class="row heading">
          <h1>
            <a href={topicAddress(topic.topic)}>{topic.topic}</a> / {name}
          </h1>
          <Mark kind={kindOfGroup(group)} word={group.status}>
            {group.status.toLowerCase()}
          </Mark>
          <span class="muted small">heartbeat {duration(group.sinceHeartbeatMs)} ago</span>
        </div>
        <GroupActions topic={topic} group={group} blocked={blocked} />
      </div>
      <section class="panel row spread" aria-label="Figures">
        <Facts>
          <Fact name="Lag" title={whole(group.lagMessages)}>
            {count(group.lagMessages)}{' '}
            <span class="muted small">{group.lagMessages > 0 ? duration(group.lagMs) : 'up to date'}</span>
          </Fact>
          <Fact name="In">{rate(topic.publishedPerSecond)}/s</Fact>
          <Fact name="Out">{rate(group.consumedPerSecond)}/s</Fact>
          <Fact name="In flight">{count(group.inFlight)}</Fact>
          <Fact name="Retries">{count(group.retries)}</Fact>
          <Fact name="Dead letters">
            {group.deadLetters === 0 ? (
              '0'
            ) : (
              <a
                href={`/dead-letters?topic=${encodeURIComponent(topic.topic)}&group=${encodeURIComponent(group.group)}`}
              >
                {count(group.deadLetters)}
              </a>
            )}
          </Fact>
          <Fact name="Members">{count(isGone ? group.members : (members.value.value?.length ?? group.members))}</Fact>
          <Lost now={now.value.value} />
        </Facts>
        <OldAge />
      </section>
      {!isGone && (
        <>
          <BackfillPanel topic={topic} group={group} />
          <HistoryCharts topic={topic.topic} group={group.group} />
          <div class="columns">
            <MembersPanel members={members} />
            <ClaimsPanel topic={topic.topic} group={group.group} />
            <RetriesPanel place={place} topic={topic.topic} count={group.retries} />
            <StatesPanel place={place} />
          </div>
        </>
      )}
    </div>
  )
}

/** Lost messages are always shown. */
function Lost({ now }: { now: GroupNow | undefined }) {
  if (now === undefined || now.lost === 0) return null
  return (
    <Fact name="Lost" title="Cleaned up before the group had them, or skipped">
      <span class={now.unacknowledgedLoss > 0 ? 'bad' : ''}>{count(now.lost)}</span>
    </Fact>
  )
}
