import { overview } from '../live.ts'
import { LoadingScreen } from '../parts/skeleton.tsx'
import { Empty } from '../parts/states.tsx'
import { AttentionList } from './attention.tsx'
import { Flow } from './flow.tsx'
import { TopicFlow } from './topic-flow.tsx'
import { WorldThumbnail } from './world-thumbnail.tsx'

/** What needs attention first, then the flow of everything. */
export function OverviewScreen() {
  const found = overview.value
  if (found === undefined) return <LoadingScreen name="overview" />
  return (
    <div class="overview values">
      <h1 class="offscreen">Overview</h1>
      <AttentionList attention={found.attention} />
      {found.newestRun && <WorldThumbnail key={found.newestRun.runId} run={found.newestRun} />}
      {found.pipeline !== null && (
        <section class="panel stack pipeline" aria-labelledby="pipeline">
          <h2 id="pipeline">Pipeline</h2>
          <Flow graph={found.pipeline} />
        </section>
      )}
      {found.topics.length === 0 ? <NoTopics /> : <TopicFlow topics={found.topics} omitted={found.omitted} />}
    </div>
  )
}

function NoTopics() {
  return (
    <Empty
      title="No topics yet"
      command={`curl -X PUT ${location.origin}/api/v1/topics/orders -H 'content-type: application/json' -d '{}'`}
    >
      A topic appears here as soon as a program publishes to it or configures it. Make one from a terminal, or on the{' '}
      <a href="/topics">list of topics</a>:
    </Empty>
  )
}
