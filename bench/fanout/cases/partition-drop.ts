import type { Client } from 'pg'
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
      await client.query(`create table raw_drop (like tidemark.log_${topic.id}_p0 including all)`)
      await client.query(`insert into raw_drop select * from tidemark.log_${topic.id}_p0`)
      await client.query('analyze')
      await client.query('checkpoint')
      const deleted = await measured(client, () => client.query('delete from raw_partition'))
      const vacuumed = await measured(client, () => client.query('vacuum raw_partition'))
      await client.query('checkpoint')
      const rawDrop = await measured(client, () => client.query('drop table raw_drop'))
      const sealed = await measured(client, () =>
        stepUntil(
          () => cleanUp(topic),
          step => step.more && step.removed === 0,
        ),
      )
      const dropped = await measured(client, () =>
        stepUntil(
          () => cleanUp(topic),
          step => step.removed > 0,
        ),
      )
      const perSecond = (ms: number): number => (count * 1_000) / ms
      const deleteMs = deleted.ms + vacuumed.ms
      return [
        figure({
          case: 'messages removed, by dropping a partition',
          engine: engine.name,
          unit: '/s',
          ours: perSecond(dropped.ms),
          raw: perSecond(deleteMs),
          target: ratioAtLeast(100),
          note:
            `decided, detached concurrently and dropped: ${dropped.ms.toFixed(0)} ms; ` +
            `raw: delete ${deleted.ms.toFixed(0)} ms and vacuum ${vacuumed.ms.toFixed(0)} ms. ` +
            `Sealing reads a partition once in its life: ${sealed.ms.toFixed(0)} ms`,
        }),
        figure({
          case: 'messages removed, next to a bare DROP TABLE of the same rows',
          engine: engine.name,
          unit: '/s',
          ours: perSecond(dropped.ms),
          raw: perSecond(rawDrop.ms),
          note: `the bare drop takes ${rawDrop.ms.toFixed(0)} ms: the file system's time to give the space back`,
        }),
        figure({
          case: 'WAL written to remove a message',
          engine: engine.name,
          unit: 'B/msg',
          ours: (sealed.walBytes + dropped.walBytes) / count,
          raw: (deleted.walBytes + vacuumed.walBytes) / count,
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

async function measured(client: Client, work: () => Promise<unknown>): Promise<{ ms: number; walBytes: number }> {
  const before = await walPosition(client)
  const started = performance.now()
  await work()
  const ms = performance.now() - started
  return { ms, walBytes: (await walPosition(client)) - before }
}

async function walPosition(client: Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes")
  return Number(rows[0]?.bytes)
}

async function stepUntil(step: () => Promise<CleanUpStep>, isIt: (step: CleanUpStep) => boolean): Promise<void> {
  while (!isIt(await step()));
}
