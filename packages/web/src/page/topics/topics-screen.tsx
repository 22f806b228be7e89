import { useRef } from 'preact/hooks'
import { goTo, pushQuery, query, replaceQuery, topicAddress } from '../address.ts'
import { bytes, count, plural, rate, whole } from '../format.ts'
import { overview } from '../live.ts'
import { Age } from '../parts/age.tsx'
import { GroupMarks } from '../parts/group-marks.tsx'
import { LeftOut } from '../parts/left-out.tsx'
import { LoadingScreen } from '../parts/skeleton.tsx'
import { Sparkline, trend } from '../parts/sparkline.tsx'
import { Empty } from '../parts/states.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useWindow } from '../parts/use-window.ts'
import type { TopicLive } from '../shapes.ts'
import { NewTopic } from './new-topic.tsx'
import { choose, lagOf, ORDERS, ordered, type Sorted, sortedBy } from './topics-order.ts'
import { useRecentRates } from './use-recent-rates.ts'

const ROW_HEIGHT = 40
const CARD_HEIGHT = 112
const isPhone = matchMedia('(width < 600px)')

export function TopicsScreen() {
  const found = overview.value
  if (found === undefined) return <LoadingScreen name="topics" />
  const words = query.value.get('q') ?? ''
  const sorted = sortedBy(query.value.get('sort'))
  const shown = ordered(found.topics, words, sorted)
  return (
    <div class="stack">
      <div class="row spread">
        <h1>Topics</h1>
        <NewTopic />
      </div>
      {found.topics.length > 0 && (
        <Tools words={words} sorted={sorted} shown={shown.length} all={found.topics.length} />
      )}
      <LeftOut omitted={found.omitted} shown={found.topics.length} />
      {found.topics.length === 0 ? (
        <Empty
          title="No topics yet"
          command={`curl -X PUT ${location.origin}/api/v1/topics/orders -H 'content-type: application/json' -d '{}'`}
        >
          A topic holds messages until every group has processed them. Programs create theirs when they start; make the
          first one with “New topic”, or from a terminal:
        </Empty>
      ) : shown.length === 0 ? (
        <Empty title={`None of the ${count(found.topics.length)} topics matches “${words}”`}>
          Names of topics and groups were searched.{' '}
          <button type="button" onClick={() => replaceQuery({ q: null })}>
            Show all
          </button>
        </Empty>
      ) : (
        <TopicTable topics={shown} sorted={sorted} />
      )}
    </div>
  )
}

function Tools({ words, sorted, shown, all }: { words: string; sorted: Sorted; shown: number; all: number }) {
  return (
    <div class="row">
      <input
        class="filter"
        type="search"
        placeholder="Filter…"
        aria-label="Filter topics"
        value={words}
        onInput={event => replaceQuery({ q: event.currentTarget.value })}
      />
      <label class="row">
        <span class="muted">sort</span>
        <select value={sorted.by} onChange={event => pushQuery({ sort: event.currentTarget.value })}>
          {Object.keys(ORDERS).map(name => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <span class="muted small">
        {shown === all ? '' : `${whole(shown)} of `}
        {plural(all, 'topic')}
      </span>
    </div>
  )
}

function TopicTable({ topics, sorted }: { topics: readonly TopicLive[]; sorted: Sorted }) {
  const list = useRef<HTMLDivElement>(null)
  const height = isPhone.matches ? CARD_HEIGHT : ROW_HEIGHT
  const part = useWindow(list, topics.length, height)
  const rows = part === undefined ? topics : topics.slice(part.first, part.first + part.count)
  const rates = useRecentRates(rows.map(({ topic }) => topic))
  return (
    <div ref={list} class={part === undefined ? undefined : 'windowed'}>
      <Table
        label="Topics"
        panel
        columns={columnsOf(rates)}
        rows={rows}
        keyOf={({ topic }) => topic}
        open={({ topic }) => goTo(topicAddress(topic))}
        sorting={{ ...sorted, choose: name => pushQuery({ sort: choose(sorted, name) }) }}
        {...(part && {
          window: {
            first: part.first,
            count: topics.length,
            before: part.first * height,
            after: (topics.length - part.first - rows.length) * height,
          },
        })}
      />
    </div>
  )
}

function columnsOf(rates: (topic: string) => readonly (number | null)[]): readonly Column<TopicLive>[] {
  return [
    {
      name: 'Topic',
      sort: 'name',
      class: 'topic-name',
      cell: ({ topic }) => (
        <a class="truncate" href={topicAddress(topic)} title={topic}>
          {topic}
        </a>
      ),
    },
    {
      name: 'Last 5 min',
      priority: 2,
      cell: ({ topic }) => {
        const values = rates(topic)
        return <Sparkline values={values} says={trend(values, value => `${rate(value)}/s`)} />
      },
    },
    { name: 'In/s', sort: 'rate', isNumber: true, cell: ({ publishedPerSecond }) => rate(publishedPerSecond) },
    {
      name: 'Kept',
      sort: 'kept',
      isNumber: true,
      priority: 2,
      title: ({ kept }) => whole(kept),
      cell: ({ kept }) => count(kept),
    },
    {
      name: 'Size',
      sort: 'size',
      isNumber: true,
      priority: 3,
      title: topic => (topic.bytes === null ? 'not known yet' : `${whole(topic.bytes)} bytes`),
      cell: topic => (topic.bytes === null ? '–' : bytes(topic.bytes)),
    },
    { name: 'Oldest', sort: 'oldest', isNumber: true, priority: 3, cell: ({ oldestAt }) => <Age at={oldestAt} /> },
    {
      name: 'Lag',
      sort: 'lag',
      isNumber: true,
      title: topic => whole(lagOf(topic)),
      cell: topic => count(lagOf(topic)),
    },
    {
      name: 'Groups',
      sort: 'groups',
      class: 'group-marks',
      cell: topic => <GroupMarks topic={topic} />,
    },
  ]
}
