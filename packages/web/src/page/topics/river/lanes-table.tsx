import { goTo, groupAddress } from '../../address.ts'
import { count, duration, rate, whole } from '../../format.ts'
import { kindOfGroup, Mark } from '../../parts/mark.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import type { GroupLive, Lanes, TopicLive } from '../../shapes.ts'

/** The lanes as figures. */
export function LanesTable({ topic, lanes }: { topic: TopicLive; lanes: Lanes | undefined }) {
  const facts = new Map(lanes?.groups.map(each => [each.group, each]))
  const columns: readonly Column<GroupLive>[] = [
    {
      name: 'Group',
      cell: ({ group }) => <a href={groupAddress(topic.topic, group)}>{group === '' ? 'queue' : group}</a>,
    },
    {
      name: 'State',
      cell: group => (
        <Mark kind={kindOfGroup(group)} word={group.status.toLowerCase()}>
          {group.status.toLowerCase()}
        </Mark>
      ),
    },
    { name: 'Claimed up to', isNumber: true, priority: 3, cell: ({ cursor }) => whole(cursor) },
    { name: 'Settled up to', isNumber: true, priority: 3, cell: ({ watermark }) => whole(watermark) },
    {
      name: 'Lag',
      isNumber: true,
      title: ({ lagMessages }) => whole(lagMessages),
      cell: ({ lagMessages }) => count(lagMessages),
    },
    {
      name: 'Behind',
      isNumber: true,
      priority: 2,
      cell: ({ lagMessages, lagMs }) => (lagMessages > 0 ? duration(lagMs) : '–'),
    },
    { name: 'Out/s', isNumber: true, cell: ({ consumedPerSecond }) => rate(consumedPerSecond) },
    { name: 'In flight', isNumber: true, priority: 2, cell: ({ inFlight }) => count(inFlight) },
    { name: 'Retries', isNumber: true, priority: 2, cell: ({ retries }) => count(retries) },
    { name: 'Dead letters', isNumber: true, priority: 2, cell: ({ deadLetters }) => count(deadLetters) },
    {
      name: 'Held by',
      priority: 3,
      cell: ({ group }) => [...new Set(facts.get(group)?.leases.map(({ consumer }) => consumer))].join(', ') || '–',
    },
  ]
  return (
    <Table
      label="Groups"
      columns={columns}
      rows={topic.groups}
      keyOf={({ group }) => group}
      open={({ group }) => goTo(groupAddress(topic.topic, group))}
    />
  )
}
