import { groupAddress } from '../address.ts'
import { count, duration, plural, whole } from '../format.ts'
import type { GroupLive, GroupTotals, TopicLive } from '../shapes.ts'
import { type Kind, kindOfGroup, Mark } from './mark.tsx'

/** With more groups, numbers per state are shown: sixty marks in a row say nothing. */
const MOST = 8
const ORDER: readonly Kind[] = ['bad', 'warning', 'paused', 'off', 'ok']
const WORDS: { readonly [kind in Kind]: string } = {
  ok: 'active',
  warning: 'late',
  bad: 'dead',
  paused: 'paused',
  off: 'cancelled',
}

/** The groups of a topic as marks of their state. Hovering or focusing one names it with its lag. */
export function GroupMarks({ topic: { topic, groups, totals } }: { topic: TopicLive }) {
  if (totals.groups === 0) return <span class="muted">none</span>
  if (totals.groups > MOST || groups.length < totals.groups) return <Summary groups={groups} totals={totals} />
  return (
    <span class="marks">
      {groups.map(group => (
        <a key={group.group} class="mark-link" href={groupAddress(topic, group.group)} data-tip={tipOf(group)}>
          <Mark kind={kindOfGroup(group)} word={tipOf(group)} />
        </a>
      ))}
    </span>
  )
}

/** `groups`: those that are named. */
function Summary({ groups, totals }: { groups: readonly GroupLive[]; totals: GroupTotals }) {
  const byKind = Map.groupBy(groups, kindOfGroup)
  const counts = countsOf(totals)
  return (
    <span class="marks">
      {ORDER.flatMap(kind => {
        const all = counts[kind]
        if (all === 0) return []
        const names = (byKind.get(kind) ?? [])
          .toSorted((one, other) => other.lagMessages - one.lagMessages)
          .slice(0, 10)
          .map(({ group, lagMessages }) => `${nameOf(group)}, lag ${count(lagMessages)}`)
        const rest = all > names.length ? [`and ${all - names.length} more`] : []
        return (
          <span
            key={kind}
            class="mark-count"
            data-tip={[`${all} ${WORDS[kind]}`, ...names, ...(names.length === 0 ? [] : rest)].join('\n')}
          >
            <Mark kind={kind} word={`${plural(all, 'group')} ${WORDS[kind]}`}>
              {count(all)}
            </Mark>
          </span>
        )
      })}
    </span>
  )
}

const countsOf = ({ groups, late, paused, dead, cancelled }: GroupTotals): { readonly [kind in Kind]: number } => ({
  ok: groups - late - paused - dead - cancelled,
  warning: late,
  bad: dead,
  paused,
  off: cancelled,
})

const nameOf = (group: string): string => (group === '' ? 'queue' : group)

const tipOf = ({ group, status, lagMessages, lagMs }: GroupLive): string =>
  `${nameOf(group)}: ${status.toLowerCase()}, lag ${whole(lagMessages)}${lagMessages > 0 ? ` · ${duration(lagMs)}` : ''}`
