import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  BackfillError,
  ConfigError,
  GroupNotFoundError,
  InvalidTransitionError,
  type OpenOptions,
  type Tidemark,
  TooManyGroupsError,
  TopicConflictError,
  type TopicOptions,
} from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'

const BAD_TOPICS: readonly (readonly [what: string, options: TopicOptions, says: RegExp])[] = [
  ['a retention shorter than the lease', { lease: '5m', retention: '1m' }, /retention.*lease \(300000 ms\)/],
  ['a cap below the retention', { retention: '7d', maxRetention: '1d' }, /maxRetention.*retention/],
  ['a cap of what is kept for ever', { retention: 'forever', maxRetention: '1d' }, /maxRetention.*'forever'/],
  ['bitmaps in a queue', { tracking: 'reference' }, /tracking.*pub-sub/],
  ['a queue that blocks', { blockPublishWithoutSubscription: true }, /blockPublishWithoutSubscription.*queue/],
  ['a retention that is no duration', { retention: 'soon' as never }, /retention.*duration/],
]

const BAD_MAINTENANCE: readonly unknown[] = [
  'fast',
  7,
  { preset: 'x' },
  { cleanUpBatch: 0 },
  { detectEvery: -1 },
  { often: 1 },
]

export function fanOutBadInput({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a topic is not configured', () => {
        for (const [what, options, says] of BAD_TOPICS) {
          it(`with ${what}`, 'tracking' in options ? needs(store, 'tracking') : {}, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await assert.rejects(tm.configureTopic('events', options), (error: Error) => {
              assert.ok(error instanceof ConfigError)
              assert.match(error.message, says)
              return true
            })
            assert.deepEqual(await tm.admin.topics(), [])
          })
        }

        it(
          'to another tracking except by the method for it, which the error names',
          needs(store, 'tracking'),
          async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            const before = await tm.configureTopic('events', { semantics: 'pub-sub' })
            await assert.rejects(tm.configureTopic('events', { tracking: 'reference' }), (error: Error) => {
              assert.ok(error instanceof TopicConflictError)
              assert.match(error.message, /setTracking\('events', 'reference'\)/)
              return true
            })
            assert.deepEqual(await tm.configureTopic('events'), before)
          },
        )
      })

      it('maintenance with an unknown preset or option is refused', async () => {
        await using database = await store.fresh()
        for (const maintenance of BAD_MAINTENANCE) {
          await assert.rejects(database.open({ maintenance } as OpenOptions), ConfigError)
        }
      })

      describe('a group', () => {
        it('that does not exist is an error that names the existing ones', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await subscribed(tm, 'offset', ['email'])
          const { admin } = tm
          const verbs = [
            () => admin.pauseGroup('events', 'mail'),
            () => admin.resumeGroup('events', 'mail'),
            () => admin.cancelGroup('events', 'mail'),
            () => admin.resurrectGroup('events', 'mail'),
            () => admin.resetGroup('events', 'mail', 'now'),
            () => admin.removeGroup('events', 'mail'),
            () => admin.startBackfill('events', 'mail'),
          ]
          for (const verb of verbs) {
            await assert.rejects(verb(), (error: Error) => {
              assert.ok(error instanceof GroupNotFoundError)
              assert.match(error.message, /'mail'.*email/)
              return true
            })
          }
        })

        it('changes its state only as the states allow, and stays as it was', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await subscribed(tm, 'offset', ['email'])
          const { admin } = tm
          const statusIs = async (status: string) => {
            const [group] = await admin.groups('events')
            assert.equal(group?.status, status)
          }
          await assert.rejects(admin.resumeGroup('events', 'email'), InvalidTransitionError)
          await assert.rejects(admin.resurrectGroup('events', 'email'), InvalidTransitionError)
          await statusIs('ACTIVE')
          await admin.pauseGroup('events', 'email')
          await assert.rejects(admin.pauseGroup('events', 'email'), InvalidTransitionError)
          await statusIs('PAUSED')
          await admin.cancelGroup('events', 'email')
          await assert.rejects(admin.resumeGroup('events', 'email'), InvalidTransitionError)
          await assert.rejects(admin.pauseGroup('events', 'email'), InvalidTransitionError)
          await assert.rejects(admin.resetGroup('events', 'email', 'beginning'), InvalidTransitionError)
          await assert.rejects(tm.reader('events', { group: 'email' }).ready(), InvalidTransitionError)
          await statusIs('CANCELLED')
        })

        it(
          'is refused as the 65th of a topic tracked by reference, with a way out',
          needs(store, 'tracking'),
          async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await subscribed(tm, 'reference', range(1, 64).map(String))
            await assert.rejects(tm.reader('events', { group: '65' }).ready(), (error: Error) => {
              assert.ok(error instanceof TooManyGroupsError)
              assert.match(error.message, /64 groups.*setTracking\('events', 'offset'\)/)
              return true
            })
            assert.equal((await tm.admin.groups('events')).length, 64)
            await tm.admin.setTracking('events', 'offset')
            await tm.reader('events', { group: '65' }).ready()
          },
        )
      })

      describe('a backfill is refused', needs(store, 'tracking'), () => {
        it('of a cancelled group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await subscribed(tm, 'reference', ['late'])
          await tm.publishBatch('events', [1, 2, 3])
          await tm.admin.cancelGroup('events', 'late')
          await assert.rejects(tm.admin.startBackfill('events', 'late'), InvalidTransitionError)
          assert.equal(await tm.admin.backfill('events', 'late'), undefined)
        })

        it('while an earlier one is not delivered yet', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', tracking: 'reference' })
          await tm.publishBatch('events', [1, 2, 3])
          await tm.reader('events', { group: 'late', from: 'beginning' }).ready()
          const before = await tm.admin.backfill('events', 'late')
          assert.equal(before?.processed, 3)
          await assert.rejects(tm.admin.startBackfill('events', 'late'), BackfillError)
          assert.deepEqual(await tm.admin.backfill('events', 'late'), before)
        })

        it('if a group is placed directly', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await subscribed(tm, 'offset', ['late'])
          await assert.rejects(tm.admin.startBackfill('events', 'late'), (error: Error) => {
            assert.ok(error instanceof BackfillError)
            assert.match(error.message, /resetGroup/)
            return true
          })
        })
      })
    })
  }
}

async function subscribed(tm: Tidemark, tracking: 'offset' | 'reference', groups: readonly string[]): Promise<void> {
  await tm.configureTopic('events', { semantics: 'pub-sub', tracking })
  for (const group of groups) await tm.reader('events', { group }).ready()
}
