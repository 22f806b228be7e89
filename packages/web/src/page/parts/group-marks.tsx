import { groupAddress } from '../address.ts'
import { count, duration, plural, whole } from '../format.ts'
import type { GroupLive } from '../shapes.ts'
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
export function GroupMarks({ topic, groups }: { topic: string; groups: readonly GroupLive[] }) {
  if (groups.length === 0) return <span class="muted">none</span>
  if (groups.length > MOST) return <Summary groups={groups} />
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

function Summary({ groups }: { groups: readonly GroupLive[] }) {
  const byKind = Map.groupBy(groups, kindOfGroup)
  return (
    <span class="marks">
      {ORDER.flatMap(kind => {
        const some = byKind.get(kind)
        if (some === undefined) return []
        const names = some
          .toSorted((one, other) => other.lagMessages - one.lagMessages)
          .slice(0, 10)
          .map(({ group, lagMessages }) => `${nameOf(group)}, lag ${count(lagMessages)}`)
        const rest = some.length > names.length ? [`and ${some.length - names.length} more`] : []
        return (
          <span
            key={kind}
            class="mark-count"
            data-tip={[`${some.length} ${WORDS[kind]}`, ...names, ...rest].join('\n')}
          >
            <Mark kind={kind} word={`${plural(some.length, 'group')} ${WORDS[kind]}`}>
              {count(some.length)}
            </Mark>
          </span>
        )
      })}
    </span>
  )
}

const nameOf = (group: string): string => (group === '' ? 'queue' : group)

const tipOf = ({ group, status, lagMessages, lagMs }: GroupLive): string =>
  `${nameOf(group)}: ${status.toLowerCase()}, lag ${whole(lagMessages)}${lagMessages > 0 ? ` · ${duration(lagMs)}` : ''}`
