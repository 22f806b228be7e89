import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isLong } from '../../../../testing/long.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import { until } from '../../../../testing/until.ts'
import { openStore, orphanBackfills, Work } from '../conformance/reference.ts'
import { SHARED_STORES, type TestDatabase } from '../conformance/stores.ts'

const MESSAGES = isLong ? 1_000 : 600
const KILLS = isLong ? 3 : 2
const SCRIPT = new URL('./scripts/late-group.ts', import.meta.url)

for (const engine of SHARED_STORES) {
  describe(`a process killed with SIGKILL while it backfills, on ${engine.name}`, () => {
    it('is followed by another, and the group gets every message', { timeout: 120_000 }, async () => {
      const random = new SeededRandom()
      await using database = await engine.fresh()
      await using store = await openStore(database)
      const work = await Work.on(store)
      await work.publish(MESSAGES)
      await random.named(async () => {
        for (let kill = 0; kill < KILLS; kill++) {
          await using process = spawnScript(SCRIPT, [database.url, 'events'])
          await until(() => process.messages.includes('ready'), { what: 'the process to be ready' })
          // Somewhere in its third of the backfill.
          const point = ((kill + random.next()) / KILLS) * MESSAGES * 0.9
          await until(async () => (await checkpoint(work)) >= point, { what: 'the backfill to come to the point' })
          process.kill('SIGKILL')
          await process.exited
          await until(() => isGone(database), { what: 'the server to end its sessions' })
          await orphanBackfills(database)
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

/** A statement that was on its way when its process was killed may still commit, and renew the lease. */
async function isGone(database: TestDatabase): Promise<boolean> {
  const [row] = await database.execute({
    sqlite: 'select 0 as sessions',
    postgres: `
      select count(*)::int as sessions from pg_stat_activity
      where datname = current_database() and application_name = 'tidemark'`,
  })
  return row?.sessions === 0
}

async function checkpoint(work: Work): Promise<number> {
  const topic = await work.store.topics.find('events')
  if (topic === undefined) return 0
  // The process subscribes; from then on this finds its group.
  const { groups } = await work.store.inspection.describe(topic)
  if (!groups.some(({ group }) => group === 'late')) return 0
  work.groups.set('late', await work.store.subscriptions.subscribe(topic, 'late', 'now'))
  return (await work.store.backfills.find(work.group('late')))?.checkpointId ?? 0
}
