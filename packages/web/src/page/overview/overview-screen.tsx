import { groupAddress, topicAddress } from '../address.ts'
import { count, plural } from '../format.ts'
import { overview } from '../live.ts'
import { Age } from '../parts/age.tsx'
import { Mark } from '../parts/mark.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import type { Attention } from '../shapes.ts'
import { Flow } from './flow.tsx'
import { TopicFlow } from './topic-flow.tsx'

/** What needs attention first, then the flow of everything. */
export function OverviewScreen() {
  const found = overview.value
  if (found === undefined) return <Loading rows={8} />
  const groups = found.topics.reduce((sum, { groups }) => sum + groups.length, 0)
  return (
    <div class="stack values">
      <h1 class="offscreen">Overview</h1>
      <AttentionList attention={found.attention} />
      {found.topics.length === 0 && (
        <Empty
          title="No topics yet"
          command={`curl -X PUT ${location.origin}/api/v1/topics/orders -H 'content-type: application/json' -d '{}'`}
        >
          A topic appears here as soon as a program publishes to it or configures it.
        </Empty>
      )}
      {found.pipeline !== null && (
        <section class="panel stack" aria-labelledby="pipeline">
          <h2 id="pipeline">Pipeline</h2>
          <Flow graph={found.pipeline} />
        </section>
      )}
      <TopicFlow topics={found.topics} />
      <p class="muted">
        <a href="/topics">{plural(found.topics.length, 'topic')}</a> · {plural(groups, 'group')}
      </p>
    </div>
  )
}

function AttentionList({ attention }: { attention: readonly Attention[] }) {
  if (attention.length === 0)
    return (
      <section class="panel">
        <Mark kind="ok" word="healthy">
          Nothing needs you.
        </Mark>
      </section>
    )
  return (
    <section class="panel stack" aria-labelledby="needs-you">
      <h2 id="needs-you">Needs you ({count(attention.length)})</h2>
      <ul class="stack">
        {attention.map(each => (
          <li key={`${each.kind} ${each.topic} ${each.group} ${each.service} ${each.text}`} class="row spread">
            <Mark kind={each.severity} word={each.severity}>
              <span>{each.text}</span>
            </Mark>
            <span class="row muted small">
              {each.since !== null && <Age at={each.since} />}
              <a href={placeOf(each)}>Look</a>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function placeOf({ kind, topic, group, service, runId }: Attention): string {
  if (kind === 'dead-letters') return `/dead-letters?topic=${encodeURIComponent(topic ?? '')}`
  if (topic !== undefined) return group === undefined ? topicAddress(topic) : groupAddress(topic, group)
  if (service !== undefined) return `/services/${encodeURIComponent(service)}`
  return runId === undefined ? '/' : `/runs/${runId}`
}
