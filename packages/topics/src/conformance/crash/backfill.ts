import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type ConformanceStores, needs } from '../conformance-store.ts'
import { it } from '../it.ts'
import { isLong } from '../long.ts'
import { openStore } from '../open-store.ts'
import { Work } from '../reference.ts'
import { SeededRandom } from '../seeded-random.ts'
import { spawn } from '../spawn.ts'
import { until } from '../until.ts'

const MESSAGES = isLong ? 1_000 : 600
const KILLS = isLong ? 3 : 2

export function killedBackfill({ shared }: ConformanceStores): void {
  for (const engine of shared) {
    describe(`a process killed with SIGKILL while it backfills, on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('is followed by another, and the group gets every message', { timeout: 120_000 }, async () => {
        const random = new SeededRandom()
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(MESSAGES)
        await random.named(async () => {
          for (let kill = 0; kill < KILLS; kill++) {
            await using process = spawn(engine, 'late-group', [database.url, 'events'])
            await until(() => process.messages.includes('ready'), { what: 'the process to be ready' })
            // Somewhere in its third of the backfill.
            const point = ((kill + random.next()) / KILLS) * MESSAGES * 0.9
            await until(async () => (await checkpoint(work)) >= point, { what: 'the backfill to come to the point' })
            process.kill('SIGKILL')
            await process.exited
            // A statement in progress may still commit, and renew the lease.
            await database.settlesDown()
            await database.orphanBackfills()
          }
          const record = await work.backfill('late', 100)
          assert.ok(record !== 'lost')
          assert.equal(record.processed, MESSAGES)
          await database.expireLeases()
          await work.drain('late')
          const rows = [...(await work.completion()).values()]
          assert.equal(rows.filter(({ completed }) => completed === 'late').length, MESSAGES)
        })
      })
    })
  }
}

async function checkpoint(work: Work): Promise<number> {
  const topic = await work.store.topics.find('events')
  if (topic === undefined) return 0
  // The process subscribes; from then on its group is found here.
  const { groups } = await work.store.inspection.describe(topic)
  if (!groups.some(({ group }) => group === 'late')) return 0
  work.groups.set('late', await work.store.subscriptions.subscribe(topic, 'late', 'now'))
  return (await work.store.backfills.find(work.group('late')))?.checkpointId ?? 0
}
