import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { ConfigError, JobBusyError, type MaintenancePreset } from '../index.ts'
import { ClockWatch } from '../maintenance/clock-watch.ts'
import type { Job } from '../maintenance/job.ts'
import { Maintenance } from '../maintenance/maintenance.ts'
import { Instrumentation } from '../observe/instrumentation.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, Gate, range, receive } from './consuming.ts'
import { letDie } from './dying.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { SILENT } from './test-database.ts'
import { until } from './until.ts'

const DAY = 86_400_000

export function maintenance({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      it('opens with each preset, with custom settings, and without', async () => {
        await using database = await store.fresh()
        for (const preset of ['standard', 'low', 'high', 'critical'] satisfies MaintenancePreset[]) {
          await (await database.open({ maintenance: preset })).close()
        }
        const tm = await database.open({ maintenance: { preset: 'low', detectEvery: '1h' } })
        await tm.close()
        const silent = await database.open({ maintenance: false })
        assert.equal((await silent.admin.jobs['dead-groups'].runOnce()).dead, 0)
      })

      it('refuses what it does not know', async () => {
        await using database = await store.fresh()
        const wrong = [
          'often',
          true,
          7,
          null,
          { every: '1m' },
          { detectEvery: 0 },
          { cleanUpBatch: 0 },
          { preset: 'none' },
        ]
        for (const maintenance of wrong) {
          await assert.rejects(database.open({ maintenance: maintenance as never }), ConfigError, String(maintenance))
        }
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('a job', () => {
        it('runs in one process at a time', async () => {
          await using database = await store.fresh()
          await using bench = await benchOf(database, 2)
          const [first, second] = bench.instances
          const running = first.maintenance.runOnce('dead-groups')
          await until(() => first.runs === 1, { what: 'the first to be at it' })
          await assert.rejects(second.maintenance.runOnce('dead-groups'), (error: unknown) => {
            assert.ok(error instanceof JobBusyError)
            assert.equal(error.job, 'dead-groups')
            return true
          })
          first.gate.open()
          assert.deepEqual(await running, { done: 1 })
          second.gate.open()
          assert.deepEqual(await second.maintenance.runOnce('dead-groups'), { done: 1 })
          const [record] = await bench.stores[0].jobs.list()
          assert.deepEqual(
            [record?.name, record?.running, record?.runs, record?.result],
            ['dead-groups', false, 2, { done: 1 }],
          )
        })

        it('of a process that was killed in it is taken over when its lock has expired', async () => {
          await using database = await store.fresh()
          const [tm, killed] = [await database.open(), await openStore(database)]
          assert.equal(await killed.jobs.lock('dead-groups', { token: TOKEN, ttlMs: 60_000 }), true)
          await killed.close()
          await assert.rejects(tm.admin.jobs['dead-groups'].runOnce(), JobBusyError)
          await database.ageJobs(61_000)
          assert.equal((await tm.admin.jobs['dead-groups'].runOnce()).dead, 0)
          // The returning process has lost the lock: it may neither renew nor release another's.
          const late = await openStore(database)
          assert.equal(await late.jobs.renew('dead-groups', { token: TOKEN, ttlMs: 60_000 }), false)
          await late.jobs.unlock('dead-groups', TOKEN, { late: 1 })
          const [record] = await late.jobs.list()
          assert.equal(record?.runs, 1)
          assert.notDeepEqual(record.result, { late: 1 })
          await late.close()
        })

        it('keeps its lock while it works, and gives up when it was lost', async () => {
          await using database = await store.fresh()
          await using bench = await benchOf(database, 1, 40)
          const [only] = bench.instances
          only.job = async ({ renew }) => {
            for (let step = 0; step < 3; step++) {
              const end = performance.now() + 30
              await until(() => performance.now() > end, { what: 'a step to be done' })
              await renew()
            }
            const other = await openStore(database)
            const isTaken = async (): Promise<boolean> => {
              await database.ageJobs(61_000)
              return await other.jobs.lock('dead-groups', { token: TOKEN, ttlMs: 60_000 })
            }
            await until(isTaken, { what: 'another process to come between two renewals' })
            await other.close()
            const end = performance.now() + 30
            await until(() => performance.now() > end, { what: 'another step' })
            await renew()
            return { done: 1 }
          }
          await assert.rejects(only.maintenance.runOnce('dead-groups'), JobBusyError)
          assert.equal(only.instrumentation.metrics.snapshot({ size: 0, busy: 0, waiting: 0 }).totals.jobsFailed, 1)
        })

        it('keeps its lock during a step that takes longer than the lock', async () => {
          await using database = await store.fresh()
          await using bench = await benchOf(database, 1, 4_000)
          const [only] = bench.instances
          const running = only.maintenance.runOnce('dead-groups')
          await until(() => only.runs === 1, { what: 'the job to begin' })
          await using other = await openStore(database)
          const isLocked = async (): Promise<boolean> => (await other.jobs.list())[0]?.running === true
          await database.ageJobs(5_000)
          await until(isLocked, { what: 'the lock to be renewed during the step' })
          assert.equal(await other.jobs.lock('dead-groups', { token: TOKEN, ttlMs: 60_000 }), false)
          only.gate.open()
          assert.deepEqual(await running, { done: 1 })
        })

        for (const { everyMs, blocks, frees } of LOCKS) {
          it(`that runs every ${everyMs} ms is taken over ${frees} ms after its process was killed`, async () => {
            await using database = await store.fresh()
            await using bench = await benchOf(database, 2, undefined, everyMs)
            const [killed, other] = bench.instances
            void killed.maintenance.runOnce('dead-groups').catch(() => undefined)
            await until(() => killed.runs === 1, { what: 'the job to begin' })
            await bench.stores[0].close()
            other.gate.open()
            await database.ageJobs(blocks)
            await assert.rejects(other.maintenance.runOnce('dead-groups'), JobBusyError)
            await database.ageJobs(frees - blocks)
            assert.deepEqual(await other.maintenance.runOnce('dead-groups'), { done: 1 })
          })
        }

        it('runs by itself, in whichever process gets to it first', async () => {
          await using database = await store.fresh()
          const instances = await Promise.all(
            range(1, 3).map(async () => {
              const tm = await database.open({ maintenance: { detectEvery: 30 } })
              // Subscribed at once: the first jobs run while the others are being opened.
              return { tm, ended: eventsOf(tm, 'job-ended') }
            }),
          )
          const ended = (): number => instances.reduce((sum, each) => sum + each.ended.length, 0)
          await until(() => ended() >= 6, { what: 'six runs' })
          await Promise.all(instances.map(({ tm }) => tm.close()))
          const direct = await openStore(database)
          const runs = (await direct.jobs.list()).reduce((sum, job) => sum + job.runs, 0)
          assert.equal(runs, ended())
          await direct.close()
        })

        it('is waited for by close, which tells it to end', async () => {
          await using database = await store.fresh()
          await using bench = await benchOf(database, 1)
          const [only] = bench.instances
          only.job = async ({ signal }) => {
            await new Promise(resolve => signal.addEventListener('abort', resolve))
            await only.gate.passed
            return { done: 1 }
          }
          const running = only.maintenance.runOnce('dead-groups')
          await until(() => only.runs === 1, { what: 'the job to begin' })
          let stopped = false
          const stopping = only.maintenance.stop().then(() => {
            stopped = true
          })
          await new Promise(resolve => setImmediate(resolve))
          assert.equal(stopped, false)
          only.gate.open()
          await stopping
          assert.deepEqual(await running, { done: 1 })
        })
      })

      describe('subscriptions that ended', () => {
        it('are removed after their retention with everything but their dead letters', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ maintenance: 'high' })
          await tm.configureTopic('events', { semantics: 'pub-sub', maxAttempts: 2 })
          const [live, cancelled] = ['live', 'cancelled'].map(name => tm.consumerGroup('events', name))
          const gone = await tm.reader('events', { group: 'dead' }).ready()
          for (const group of [live, cancelled]) {
            if (group === undefined) continue
            collect(group)
            await group.start({ heartbeat: { interval: 10, misses: 1_000 } })
          }
          await tm.publishBatch('events', [1, 2, 3])
          // One becomes a dead letter, one is to be retried in an hour, one is held for ever.
          for (const delay of [0, 0, '1h'] as const) await (await receive(gone)).nack(new Error('no'), { delay })
          await receive(gone)
          await cancelled?.cancel()
          await letDie(tm, database)
          const groups = async () => (await tm.admin.describeTopic('events')).groups.map(({ group }) => group)
          assert.equal((await tm.admin.jobs.subscriptions.runOnce()).removed, 0)
          await database.ageGroups(6 * DAY)
          assert.equal((await tm.admin.jobs.subscriptions.runOnce()).removed, 0)
          await database.ageGroups(DAY)
          const result = await tm.admin.jobs.subscriptions.runOnce()
          assert.deepEqual(result, { removed: 2, zombies: 0, lost: 0 })
          assert.deepEqual(await groups(), ['live'])
          assert.equal((await tm.admin.deadLetters('events', { group: 'dead' })).length, 1)
          // The name is free again.
          assert.deepEqual(await consume(tm.reader('events', { group: 'cancelled', from: 'beginning' }), 3), [1, 2, 3])
        })
      })
    })
  }
}

const TOKEN = '11111111-1111-4111-8111-111111111111'
/** As long as the interval of the job, but neither very short nor very long. */
const LOCKS = [
  { everyMs: 700, blocks: 1_000, frees: 5_000 },
  { everyMs: 30_000, blocks: 15_000, frees: 30_000 },
  { everyMs: 3_600_000, blocks: 30_000, frees: 60_000 },
]

/** Maintenance of several processes, each with a job that waits for its gate. */
async function benchOf(database: ConformanceDatabase, count: number, lockMs?: number, everyMs = 60_000) {
  const stores = await Promise.all(range(1, count).map(() => openStore(database)))
  const instances = stores.map(store => {
    const instrumentation = new Instrumentation(SILENT)
    const instance = {
      instrumentation,
      gate: new Gate(),
      runs: 0,
      job: (async () => {
        await instance.gate.passed
        return { done: 1 }
      }) as Job['run'],
      maintenance: undefined as unknown as Maintenance,
    }
    const run: Job['run'] = context => {
      instance.runs++
      return instance.job(context)
    }
    instance.maintenance = new Maintenance(
      store,
      instrumentation,
      new ClockWatch(store, instrumentation),
      [{ name: 'dead-groups', everyMs, goesByAge: true, run }],
      lockMs === undefined ? undefined : () => lockMs,
    )
    return instance
  })
  return {
    stores: stores as [(typeof stores)[0] & object, ...typeof stores],
    instances: instances as [(typeof instances)[0] & object, (typeof instances)[0] & object],
    async [Symbol.asyncDispose]() {
      for (const { maintenance, gate } of instances) {
        gate.open()
        await maintenance.stop()
      }
      for (const store of stores) await store.close()
    },
  }
}
