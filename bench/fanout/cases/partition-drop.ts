import { open } from 'tidemark'
import type { CleanUpStep } from '../../../packages/topics/src/stores/fan-out-store.ts'
import { openPostgres } from '../../../packages/topics/src/stores/postgres/postgres-store.ts'
import type { TopicRecord } from '../../../packages/topics/src/stores/store.ts'
import { figure, ratioAtLeast } from '../../figure.ts'
import type { BenchCase } from '../../topics/bench-case.ts'
import { connect } from '../../topics/engines/postgres.ts'
import { PAGE } from '../../topics/log-filling.ts'
import { orders } from '../../topics/payloads.ts'

const TOPIC = 'partition-drop'
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export const partitionDrop: BenchCase = {
  name: 'partition-drop',
  about: 'removing 1 000 000 messages by dropping their partition, next to deleting the rows',
  engines: ['postgres'],
  async run({ engine, size, progress }) {
    const count = size(1_000_000)
    await fill(engine.url, count, progress)
    const store = await openPostgres({ url: engine.url, namespace: 'default', rowCacheBytes: 0, logger: quiet })
    const client = await connect(engine.url)
    try {
      const topic = await store.topic(TOPIC)
      if (topic === undefined) throw new Error('The topic is gone')
      progress('copying the partition')
      await client.query(`create table raw_partition (like tidemark.log_${topic.id}_p0 including all)`)
      await client.query(`insert into raw_partition select * from tidemark.log_${topic.id}_p0`)
      await client.query('analyze')
      await client.query('checkpoint')
      const deleteMs = await timed(() => client.query('delete from raw_partition'))
      await client.query('checkpoint')
      const sealMs = await timed(() =>
        stepUntil(
          () => cleanUp(topic),
          step => step.more && step.removed === 0,
        ),
      )
      const dropMs = await timed(() =>
        stepUntil(
          () => cleanUp(topic),
          step => step.removed > 0,
        ),
      )
      const perSecond = (ms: number): number => (count * 1_000) / ms
      const common = { engine: engine.name, unit: '/s' } as const
      return [
        figure({
          case: 'messages removed, by dropping a partition',
          ...common,
          ours: perSecond(dropMs),
          raw: perSecond(deleteMs),
          target: ratioAtLeast(100),
          note: `decided, detached concurrently and dropped in ${dropMs.toFixed(0)} ms; delete: ${deleteMs.toFixed(0)} ms, and a vacuum to come`,
        }),
        figure({
          case: 'messages removed, the sealing included',
          ...common,
          ours: perSecond(dropMs + sealMs),
          raw: perSecond(deleteMs),
          note: `sealing reads the partition once in its life, in ${sealMs.toFixed(0)} ms, and holds nobody up`,
        }),
      ]
    } finally {
      await client.end()
      await store.close()
    }

    function cleanUp(topic: TopicRecord): Promise<CleanUpStep> {
      return store.cleanUp(topic, 10_000)
    }
  },
}

/** One partition full, and one message beyond. Nobody is subscribed, and nothing is kept for anybody. */
async function fill(url: string, count: number, progress: (text: string) => void): Promise<void> {
  await using tidemark = await open(url)
  await tidemark.configureTopic(TOPIC, {
    semantics: 'pub-sub',
    partitionRows: count,
    lease: 0,
    retention: 0,
    zeroSubscriptionRetention: 0,
  })
  progress(`publishing ${count} messages`)
  const batch = orders(PAGE)
  for (let published = 0; published <= count; published += batch.length) await tidemark.publishBatch(TOPIC, batch)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

async function stepUntil(step: () => Promise<CleanUpStep>, isIt: (step: CleanUpStep) => boolean): Promise<void> {
  while (!isIt(await step()));
}
