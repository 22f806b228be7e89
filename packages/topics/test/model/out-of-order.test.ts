/** Transactions that are open at once, with savepoints: only PostgreSQL has them, and its snapshot cursor is what this is about. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freshDatabase } from '../../../../testing/databases.ts'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import { until } from '../../../../testing/until.ts'
import { open, type Tidemark, type TransactionHandle } from '../../src/index.ts'
import { TransactionWriter } from './transaction-writer.ts'

const TOPIC = 'events'
const WRITERS = 8
const ROUNDS = Number(process.env.TIDEMARK_TEST_RUNS || 60)
const SECONDS = Number(process.env.TIDEMARK_TEST_SECONDS || 0)

for (const tracking of ['offset', 'reference'] as const) {
  describe(`writers that commit out of order and roll back at random, by ${tracking} on postgres`, () => {
    it('have each committed message delivered once to each group, and no other; an open transaction delays only its own', async t => {
      const random = new SeededRandom()
      await using database = await freshDatabase()
      await using tm = await open(database.url)
      // Small partitions, so that open transactions and windows reach across several.
      await tm.configureTopic(TOPIC, { semantics: 'pub-sub', tracking, partitionRows: 100 })
      const publish = (client: TransactionHandle, key: string): Promise<unknown> =>
        tm.publish(TOPIC, { key }, { tx: client })
      await using held = await TransactionWriter.connect(database.url, 'held', publish)
      await using doomed = await TransactionWriter.connect(database.url, 'doomed', publish)
      await using writers = await connectAll(database.url, publish)

      await random.named(async () => {
        const committed = new Set<string>()
        const fromStart = await startGroup(tm, 'from-start', 'beginning')
        await Promise.all([held, doomed].flatMap(writer => [writer.publish(), writer.publish()]))

        const half = ROUNDS / 2
        await writeRounds(tm, writers.list, random, half, committed)
        const earlier = new Set(committed)
        const fromNow = await startGroup(tm, 'from-now', 'now')
        await writeRounds(tm, writers.list, random, half, committed, SECONDS)
        for (const writer of writers.list) for (const key of await writer.commit()) committed.add(key)
        const replay = await startGroup(tm, 'replay', 'beginning')

        await receivedExactly(fromStart, committed)
        await receivedExactly(replay, committed)
        await receivedExactly(fromNow, committed.difference(earlier))
        t.diagnostic(`${committed.size} messages committed, ${earlier.size} of them before the second group came`)

        const late = new Set(await held.commit())
        await doomed.rollback()
        assert.equal(late.size, 2)
        await receivedExactly(fromStart, committed.union(late))
        await receivedExactly(replay, committed.union(late))
        await receivedExactly(fromNow, committed.difference(earlier).union(late))
        await drained(tm)
      })
    })
  })
}

/** In each round some of the writers take a step, at the same time; and no group's watermark goes back. */
async function writeRounds(
  tm: Tidemark,
  writers: readonly TransactionWriter[],
  random: SeededRandom,
  rounds: number,
  committed: Set<string>,
  seconds = 0,
): Promise<void> {
  const watermarks = new Map<string, bigint>()
  const end = performance.now() + seconds * 1_000
  for (let round = 0; round < rounds || performance.now() < end; round++) {
    const stepping = writers.filter(() => random.chance(0.6))
    const steps = stepping.map(writer => takeStep(tm, writer, random))
    for (const key of (await Promise.all(steps)).flat()) committed.add(key)
    for (const { group, watermark } of (await tm.admin.describeTopic(TOPIC)).groups) {
      const before = watermarks.get(group) ?? watermark
      assert.ok(watermark >= before, `${group}: the watermark went back from ${before} to ${watermark}`)
      watermarks.set(group, watermark)
    }
  }
}

/** The keys that are committed with this step. */
async function takeStep(tm: Tidemark, writer: TransactionWriter, random: SeededRandom): Promise<string[]> {
  const dice = random.next()
  if (!writer.isOpen && dice < 0.3) {
    const keys = Array.from({ length: 1 + random.below(3) }, () => writer.newKey())
    await tm.publishBatch(
      TOPIC,
      keys.map(key => ({ key })),
    )
    return keys
  }
  if (!writer.isOpen || dice < 0.4) {
    await writer.publish()
    return []
  }
  if (dice < 0.6) return await writer.commit()
  if (dice < 0.75) await writer.rollback()
  else if (dice < 0.85) await writer.publishInVain()
  return []
}

type Receiver = { readonly name: string; readonly keys: string[] }

async function startGroup(tm: Tidemark, name: string, from: 'beginning' | 'now'): Promise<Receiver> {
  const keys: string[] = []
  const group = tm.consumerGroup<{ key: string }>(TOPIC, name, { batchSize: 20 })
  await group.addConsumer('only', ({ payload }) => void keys.push(payload.key)).start({ from })
  return { name, keys }
}

/** Each once, and nothing else. */
async function receivedExactly({ name, keys }: Receiver, wanted: ReadonlySet<string>): Promise<void> {
  await until(() => keys.length >= wanted.size, {
    what: `${name} to receive ${wanted.size} messages`,
    timeout: 30_000,
  }).catch(error => {
    const missing = [...wanted.difference(new Set(keys))]
    throw new Error(`${name} misses ${missing.length} of ${wanted.size}: ${missing.slice(0, 20)}`, { cause: error })
  })
  assert.deepEqual(keys.toSorted(), [...wanted].toSorted(), name)
}

/** Nothing more can come: whatever a group got too much, it has got by now. */
async function drained(tm: Tidemark): Promise<void> {
  await until(
    async () => {
      const { groups } = await tm.admin.describeTopic(TOPIC)
      return groups.every(({ backlog, inFlight, retries }) => backlog + inFlight + retries === 0)
    },
    { what: 'the groups to drain' },
  )
}

async function connectAll(
  url: string,
  publish: (client: TransactionHandle, key: string) => Promise<unknown>,
): Promise<AsyncDisposable & { readonly list: readonly TransactionWriter[] }> {
  const names = Array.from({ length: WRITERS }, (_, index) => `writer-${index}`)
  const list = await Promise.all(names.map(name => TransactionWriter.connect(url, name, publish)))
  const dispose = async (): Promise<void> => {
    await Promise.all(list.map(writer => writer[Symbol.asyncDispose]()))
  }
  return { list, [Symbol.asyncDispose]: dispose }
}
