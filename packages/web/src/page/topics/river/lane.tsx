import { groupAddress } from '../../address.ts'
import { clock, count, duration, plural, whole } from '../../format.ts'
import { type Kind, kindOfGroup, Mark } from '../../parts/mark.tsx'
import { zone } from '../../parts/zone.ts'
import { may } from '../../session.ts'
import type { GroupLane, GroupLive, TopicLive } from '../../shapes.ts'
import { CursorHandle } from './cursor-handle.tsx'
import { gathered } from './gathered.ts'
import type { Scale } from './scale.ts'
import { useCursorDrag } from './use-cursor-drag.ts'

type LaneProps = {
  readonly topic: TopicLive
  readonly group: GroupLive
  readonly facts: GroupLane | undefined
  readonly scale: Scale
  readonly width: number
  /** The user has dragged the cursor to a message. */
  move(position: number): void
  /** Somebody has clicked at a message. */
  open(position: number): void
}

/** A group: what it has done, what it holds, its lag, and its cursor. */
export function Lane(props: LaneProps) {
  const { topic, group } = props
  const kind = kindOfGroup(group)
  return (
    <li class={`river-row lane lane-${kind}`}>
      <a class="river-name lane-name truncate" href={groupAddress(topic.topic, group.group)} title={nameOf(group)}>
        <Mark kind={kind} word={group.status.toLowerCase()}>
          <span class="truncate">{nameOf(group)}</span>
        </Mark>
      </a>
      <Picture {...props} kind={kind} />
      <Figures group={group} />
    </li>
  )
}

const nameOf = ({ group }: GroupLive): string => (group === '' ? 'queue' : group)

function Picture({ topic, group, facts, scale, width, kind, move, open }: LaneProps & { kind: Kind }) {
  const cursor = group.cursor ?? facts?.cursor
  const px = (position: number): number => Math.round(scale.xOf(position) * width * 10) / 10
  // A cursor is the last claimed id, so the lane extends to the start of the next.
  const reached = px(cursor + 1)
  const settled = Math.min(reached, px((facts?.watermark ?? group.watermark ?? cursor) + 1))
  const isFixed = group.status === 'CANCELLED' || !may('operate', topic.topic)
  const place = reached / Math.max(1, width)
  const { dragged, begin } = useCursorDrag({ x: place, scale, width, isFixed, move, open })
  return (
    <div class="river-plot lane-bed" onPointerDown={begin}>
      <div class="lane-done" style={{ width: `${settled}px` }} />
      <div class="lane-passed" style={{ left: `${settled}px`, width: `${reached - settled}px` }} />
      {facts?.leases.map(({ from, to, consumer, until, attempt }) => (
        <div
          key={`${from} ${to}`}
          class="lane-held"
          style={{ left: `${px(from)}px`, width: `${Math.max(3, px(to + 1) - px(from))}px` }}
          data-tip={`${consumer} holds ${from === to ? from : `${whole(from)}–${whole(to)}`}${
            until === null ? '' : `\nuntil ${clock(new Date(until), zone())}`
          }${attempt > 1 ? `\nattempt ${attempt}` : ''}`}
        />
      ))}
      {gathered(facts?.retries.map(({ id }) => id) ?? [], scale.xOf, width).map(({ x, ids }) => (
        <div key={x} class="lane-tick lane-retry" style={{ left: `${x}px` }} data-tip={retryTip(ids, facts)} />
      ))}
      {gathered(facts?.deadLetters ?? [], scale.xOf, width).map(({ x, ids }) => (
        <div
          key={x}
          class="lane-tick lane-letter"
          style={{ left: `${x}px` }}
          data-tip={ids.length === 1 ? `dead letter ${ids[0]}` : `${plural(ids.length, 'dead letter')} from ${ids[0]}`}
        />
      ))}
      {width - reached > 150 && kind !== 'ok' && (
        <span class="lane-state" style={{ left: `${reached + 16}px` }}>
          {stateOf(group)}
        </span>
      )}
      <CursorHandle {...{ group, scale, width, dragged, isFixed, move }} x={place} />
    </div>
  )
}

function stateOf({ status, healthy, sinceHeartbeatMs }: GroupLive): string {
  if (status === 'DEAD') return `dead ${duration(sinceHeartbeatMs)}`
  return status === 'ACTIVE' && !healthy ? 'late' : status.toLowerCase()
}

function retryTip(ids: readonly number[], facts: GroupLane | undefined): string {
  const [first] = ids
  const retry = facts?.retries.find(({ id }) => id === first)
  if (ids.length > 1 || retry === undefined) return `${plural(ids.length, 'retry', 'retries')} from ${first}`
  return `message ${retry.id}, attempt ${retry.attempt + 1}\ndue ${clock(new Date(retry.due), zone())}`
}

function Figures({ group }: { group: GroupLive }) {
  const more = [
    group.inFlight > 0 && `${count(group.inFlight)} in flight`,
    group.retries > 0 && `✚ ${plural(group.retries, 'retry', 'retries')}`,
    group.deadLetters > 0 && `✖ ${count(group.deadLetters)}`,
  ].filter(Boolean)
  return (
    <div class="river-figures">
      <span title={whole(group.lagMessages)}>
        lag {count(group.lagMessages)}
        {group.lagMessages > 0 && ` · ${duration(group.lagMs)}`}
      </span>
      <span class="lane-more">{more.join(' · ')}</span>
    </div>
  )
}
