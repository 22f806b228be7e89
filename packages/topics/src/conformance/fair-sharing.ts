import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../index.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { it } from './it.ts'
import { isLong } from './long.ts'
import { until } from './until.ts'

const CONSUMERS = 3
const BURSTS = isLong ? 400 : 60
/** Consumers that are as likely to get a message share 60 of them within a factor of two in nine cases of ten. */
const ROUNDS = 6

type Counts = number[]
/** Starts the consumers, and counts what each receives. */
type Start = (database: ConformanceDatabase, tm: Tidemark, counts: Counts) => Promise<void>

const startGroup = async (tm: Tidemark, index: number, counts: Counts, batchSize: number): Promise<void> => {
  const group = tm.consumerGroup('work', 'workers', { batchSize })
  group.addConsumer(`worker-${index}`, () => {
    counts[index] = (counts[index] ?? 0) + 1
  })
  await group.start()
}

const groups: (batchSize: number) => Start = batchSize => async (_, tm, counts) => {
  for (let index = 0; index < CONSUMERS; index++) await startGroup(tm, index, counts, batchSize)
}

const readers: (batchSize: number) => Start = batchSize => async (_, tm, counts) => {
  for (let index = 0; index < CONSUMERS; index++) {
    const reader = await tm.reader('work', { group: 'workers', batchSize }).ready()
    void (async () => {
      for await (const delivery of reader) {
        counts[index] = (counts[index] ?? 0) + 1
        await delivery.ack()
      }
    })()
  }
}

const instances: Start = async (database, tm, counts) => {
  const all = [tm, await database.open(), await database.open()]
  for (const [index, each] of all.entries()) await startGroup(each, index, counts, 200)
}

/** A live stream: each burst is published when the previous one has been received. It ends when it has been shared. */
async function stream(tm: Tidemark, counts: Counts, { bursts, size }: { bursts: number; size: number }) {
  for (let burst = 1; burst <= ROUNDS * bursts; burst++) {
    await tm.publishBatch('work', new Array(size).fill(burst))
    await until(() => sum(counts) === burst * size, { what: `burst ${burst} to be taken` })
    if (burst % bursts === 0 && isShared(counts)) return
  }
  assert.fail(`the consumers got ${counts.join(', ')}`)
}

const sum = (counts: Counts): number => counts.reduce((total, count) => total + count, 0)

const isShared = (counts: Counts): boolean => Math.max(...counts) <= 2 * Math.min(...counts)

const CASES: readonly { what: string; start: Start; bursts: number; size: number }[] = [
  { what: 'groups of one name, message by message', start: groups(200), bursts: BURSTS, size: 1 },
  { what: 'groups of one name, a page at a time', start: groups(10), bursts: BURSTS, size: 10 },
  { what: 'readers, message by message', start: readers(1), bursts: BURSTS, size: 1 },
  { what: 'readers that claim pages', start: readers(10), bursts: BURSTS, size: 10 },
]

export function fairSharing({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(`${store.name}: competing consumers of one process share a live stream within a factor of two`, () => {
      for (const { what, start, ...load } of CASES) {
        it(what, async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: false })
          await tm.configureTopic('work', { semantics: 'pub-sub' })
          const counts = new Array<number>(CONSUMERS).fill(0)
          await start(database, tm, counts)
          await stream(tm, counts, load)
        })
      }
    })
  }

  for (const store of shared) {
    it(`${store.name}: so do those of several instances`, async () => {
      await using database = await store.fresh()
      const tm = await database.open({ maintenance: false })
      await tm.configureTopic('work', { semantics: 'pub-sub' })
      const counts = new Array<number>(CONSUMERS).fill(0)
      await instances(database, tm, counts)
      await stream(tm, counts, { bursts: BURSTS, size: 1 })
    })
  }
}
