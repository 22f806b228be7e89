/** What the jobs do when something else happens between two of their steps: no test can time that with a real store. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BackfillRunner } from '../../src/backfill/backfill-runner.ts'
import { SILENT } from '../../src/conformance/test-database.ts'
import {
  DatabaseError,
  DatabaseUnreachableError,
  InvalidTransitionError,
  type TidemarkError,
  TopicNotFoundError,
} from '../../src/errors.ts'
import type { ClockWatch } from '../../src/maintenance/clock-watch.ts'
import { Maintenance } from '../../src/maintenance/maintenance.ts'
import { MessageCleanUp } from '../../src/maintenance/message-clean-up.ts'
import { SubscriptionCleanUp } from '../../src/maintenance/subscription-clean-up.ts'
import { Instrumentation } from '../../src/observe/instrumentation.ts'
import type { BackfillRecord } from '../../src/stores/backfills.ts'
import type { Store } from '../../src/stores/store.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

const CONTEXT = { renew: async () => {}, signal: new AbortController().signal }
const topicNamed = (name: string) => ({ name, config: { tracking: 'reference' } }) as TopicRecord

describe('the clean-up of messages', () => {
  it('goes on after a topic that fails, which it counts, and one that was deleted meanwhile, which it does not', async () => {
    const step = { removed: 5, partitionsDropped: 0, lost: [], more: false }
    const cleanUp = async ({ name }: TopicRecord) => {
      if (name === 'broken') throw new DatabaseError('no', undefined)
      if (name === 'deleted') throw new TopicNotFoundError(name)
      return step
    }
    const list = async () => ['broken', 'deleted', 'whole'].map(topicNamed)
    const instrumentation = new Instrumentation(SILENT)
    const errors: unknown[] = []
    instrumentation.on('error', ({ topic }) => errors.push(topic))
    const job = new MessageCleanUp({ topics: { list }, log: { cleanUp } }, instrumentation, {
      everyMs: 1,
      batchSize: 1,
    })
    assert.deepEqual(await job.run(CONTEXT), { removed: 5, partitionsDropped: 0, lost: 0, failed: 1 })
    assert.deepEqual(errors, ['broken'])
  })
})

describe('a job that fails', () => {
  it('gives up its lock, with the reason', async () => {
    const unlocked: unknown[] = []
    const jobs = {
      lock: async () => true,
      unlock: async (_: string, __: string, result: unknown) => void unlocked.push(result),
    }
    const job = {
      name: 'messages',
      goesByAge: false,
      everyMs: 1,
      run: () => Promise.reject(new RangeError('no')),
    } as const
    const store = { jobs } as unknown as Store
    const maintenance = new Maintenance(store, new Instrumentation(SILENT), {} as ClockWatch, [job])
    await assert.rejects(maintenance.runOnce('messages'), RangeError)
    assert.deepEqual(unlocked, [{ error: 'RangeError: no' }])
  })
})

describe('the clean-up of groups', () => {
  it('leaves a group that has come back since it was listed', async () => {
    const group = (name: string) => ({ topic: topicNamed('t'), subscription: { group: name } as SubscriptionRecord })
    const remove = async (_: TopicRecord, subscription: SubscriptionRecord) => {
      if (subscription.group === 'back') throw new InvalidTransitionError('t', 'back', 'ACTIVE', 'REMOVED')
    }
    const subscriptions = { ended: async () => [group('back'), group('gone')], remove, zombies: async () => [] }
    const store = { subscriptions } as unknown as Store
    const job = new SubscriptionCleanUp(store, new Instrumentation(SILENT), 0)
    assert.deepEqual(await job.run(CONTEXT), { removed: 1, zombies: 0, lost: 0 })
  })
})

describe('a backfill whose batch fails', () => {
  for (const [what, error, statuses] of [
    [
      'because the database is away is left to whoever takes over',
      new DatabaseUnreachableError('there', undefined),
      [],
    ],
    ['for good has failed', new DatabaseError('no', undefined), ['FAILED']],
  ] as const satisfies readonly [string, TidemarkError, readonly string[]][]) {
    it(what, async () => {
      const set: string[] = []
      const settings = { batchSize: 10, maxPerSecond: 1_000, targetMs: 10 }
      const record = { status: 'RUNNING', group: 'g', settings, upperId: 10, checkpointId: 0, processed: 0 }
      const backfills = {
        take: async () => record as BackfillRecord,
        runBatch: () => Promise.reject(error),
        setStatus: async (_: TopicRecord, __: unknown, status: string) => void set.push(status),
      }
      const store = { backfills, log: { probe: async () => {} } } as unknown as Store
      const runner = new BackfillRunner({ store, instrumentation: new Instrumentation(SILENT), wake: () => {} })
      await runner.start(topicNamed('t'), {} as SubscriptionRecord)
      assert.deepEqual(set, statuses)
    })
  }
})
