/** The conditions of each claim, settlement and extension, one by one: what they must not touch stays as it is. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ClaimRequest, ClaimResult, Lease, Settlement, SettleResult } from '../stores/leases.ts'
import { type ConformanceDatabase, type ConformanceStores, needs } from './conformance-store.ts'
import { soon } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { Work } from './reference.ts'
import { until } from './until.ts'

const ERROR = { name: 'Error', message: 'refused' }
const HOUR = 3_600_000

export function leaseFences({ secluded }: ConformanceStores): void {
  for (const engine of secluded) {
    describe(engine.name, needs(engine, 'tracking'), () => {
      const test = (name: string, body: (fences: Fences) => Promise<void>): void => {
        it(name, async () => {
          await using database = await engine.fresh()
          await using store = await openStore(database)
          const work = await Work.on(store, { partitionRows: 10 })
          await work.subscribe('g')
          await body(new Fences(database, work))
        })
      }

      describe('a claim', () => {
        test('leaves retries that are not due yet, beside one that is', async fences => {
          await fences.work.subscribe('other')
          const other = fences.work.group('other')
          const [first] = await fences.work.publish(3)
          const lease = await fences.lease()
          const nacks = [nack(0, 0), nack(1, HOUR), nack(2, 1)]
          await fences.settle(lease, { nacks: nacks.slice(0, 2), acks: [2] })
          // The other group's is due: that says nothing about this one's.
          await fences.settle(await fences.lease({ subscription: other }), { nacks: [nack(1, 0)] })
          assert.deepEqual(idsOf(await fences.lease()), [first])
          assert.equal((await fences.claim()).lease, null)
        })

        test('takes no retry that another consumer holds, nor one of another group', async fences => {
          await fences.work.subscribe('other')
          await fences.work.publish(2)
          await fences.settle(await fences.lease(), { nacks: [nack(0, 0), nack(1, 0)] })
          const held = await fences.lease({ limit: 1 })
          const rest = await fences.lease()
          assert.equal(idsOf(held).length + idsOf(rest).length, 2)
          assert.notDeepEqual(idsOf(held), idsOf(rest))
          const others = await fences.lease({ subscription: fences.work.group('other') })
          assert.deepEqual([others.size, others.attempts], [2, null])
        })

        test('takes of a piece only what nobody holds', async fences => {
          await fences.work.publish(4)
          await fences.lease()
          await fences.database.expireLeases()
          const first = await fences.lease({ suspects: 'shared', limit: 1 })
          const second = await fences.lease({ suspects: 'shared' })
          assert.deepEqual([...idsOf(first), ...idsOf(second)], [1, 2])
        })

        test('holds the watermark back until its page is settled', async fences => {
          await fences.work.publish(2)
          await fences.lease()
          // A claim that finds nothing more moves the cursor past the page.
          await fences.claim()
          assert.equal(await fences.watermark(), 0)
        })

        test('takes nothing for a paused group, even directly after a full page', async fences => {
          await fences.work.publish(3)
          await fences.lease({ limit: 1 })
          await fences.setStatus('PAUSED')
          const { status, lease } = await fences.claim({ limit: 1 })
          assert.deepEqual([status, lease], ['PAUSED', null])
          await fences.setStatus('ACTIVE')
          assert.equal((await fences.lease()).size, 2)
        })

        test('of a paused group waits for nobody', async fences => {
          await fences.work.publish(3)
          await fences.setStatus('PAUSED')
          await using _held = await fences.database.lock()
          const { status } = await soon(fences.claim(), 'the claim of a paused group')
          assert.equal(status, 'PAUSED')
        })

        test('notices a cursor ahead of the log, even directly after a full page', async fences => {
          await fences.work.publish(1)
          await fences.lease({ limit: 1 })
          await fences.database.moveCursors(5)
          const { status, lease } = await fences.claim({ limit: 1 })
          assert.deepEqual([status, lease], ['AHEAD', null])
        })

        for (const what of ['topics', 'groups'] as const) {
          test(`with the records of other ${what} takes nothing, even directly after a full page`, async fences => {
            await fences.work.publish(3)
            await fences.lease({ limit: 1 })
            await fences.database.replaceIdentity(what)
            for (const eager of [1, 2]) {
              const { status, lease } = await fences.claim({ limit: eager })
              assert.deepEqual([status, lease], ['GONE', null])
            }
          })
        }

        test('returns messages on their last attempt one by one, although they shared a piece before', async fences => {
          await fences.work.publish(4)
          await fences.lease()
          await fences.database.expireLeases()
          // Two pieces of two messages, with four attempts left.
          assert.equal((await fences.lease({ suspects: 'shared' })).size, 2)
          const { store } = fences.work
          fences.work.topic = await store.topics.configure('events', { maxAttempts: 2 })
          const { lease, waiting } = await fences.claim({ suspects: 'shared' })
          assert.deepEqual([lease, waiting], [null, 'alone'])
          const alone = await fences.lease({ suspects: 'alone' })
          assert.deepEqual([alone.size, alone.suspects], [1, 'alone'])
        })

        test('follows the topic as it is configured now, not as the caller knows it', async fences => {
          await fences.work.publish(2)
          const known = fences.work.topic
          await fences.work.store.topics.configure('events', { leaseMs: 2 * HOUR, maxAttempts: 1 })
          const { configVersion } = await fences.claim({ topic: known, limit: 1 })
          assert.ok(configVersion > known.configVersion)
          const [claim] = await fences.work.store.leases.list(known, { limit: 1, named: 0 })
          assert.ok(claim?.deadline)
          assert.equal(Math.round((claim.deadline - claim.claimedAt) / HOUR), 2)
          await fences.database.expireLeases()
          assert.equal((await fences.claim({ topic: known })).deadLettered, 1)
        })

        test('puts only messages with equally many attempts left into one piece', async fences => {
          await fences.work.publish(4)
          const page = await fences.lease()
          await fences.settle(page, { nacks: [nack(0, 0), nack(1, 0)], releases: [2, 3] })
          // Second attempts of two messages, first attempts of the other two.
          assert.deepEqual((await fences.lease()).attempts?.toSorted(), [1, 1, 2, 2])
          await fences.database.expireLeases()
          const pieces: (readonly number[] | null)[] = []
          for (let lease = (await fences.claim()).lease; lease !== null; lease = (await fences.claim()).lease) {
            pieces.push(lease.attempts)
            await fences.settle(lease, { acks: 'all' })
          }
          // All four together would have been split in two.
          assert.deepEqual(pieces.toSorted(), [[2], [2], [3], [3]])
        })

        test('forgets a lease only after it has ended, and only for its own group', async fences => {
          await fences.work.subscribe('other')
          await fences.work.publish(3)
          const live = await fences.lease({ limit: 1 })
          const others = await fences.lease({ limit: 1, subscription: fences.work.group('other') })
          await fences.settle(others, { acks: 'all' })
          await fences.lease({ limit: 1, forget: [live.token, others.token] })
          assert.deepEqual(await fences.settle(others, { acks: 'all' }), DONE)
          assert.deepEqual(await fences.settle(live, { acks: 'all' }), DONE)
          await fences.lease({ limit: 1, forget: [live.token] })
          assert.equal((await fences.settle(live, { acks: 'all' })).unknown, true)
        })
      })

      describe('a settlement', () => {
        test('of a finished lease changes nothing, whatever it asks', async fences => {
          await fences.work.publish(2)
          const page = await fences.lease()
          await fences.settle(page, { acks: [0, 1] })
          await fences.changesNothing(async () => {
            assert.deepEqual(await fences.settle(page, { nacks: [nack(0, 0)], releases: [1] }), DONE)
            assert.deepEqual(await fences.settle(page, { acks: 'all' }), DONE)
          })
        })

        test('leaves slots that were settled before as they are', async fences => {
          await fences.work.publish(3)
          const page = await fences.lease()
          await fences.settle(page, { acks: [0], nacks: [nack(1, HOUR)] })
          await fences.changesNothing(async () => {
            const repeated = await fences.settle(page, { acks: [1], nacks: [nack(0, 0)], releases: [0, 1] })
            assert.deepEqual(repeated, { stale: [], deadLettered: [], finished: false })
          })
          // What failed stays unfinished, although the rest of its page is acked as a whole.
          await fences.settle(page, { acks: 'all' })
          assert.deepEqual(await fences.unfinished(), [page.messages[1]?.id])
        })

        test('leaves slots beyond its lease alone', async fences => {
          await fences.work.publish(2)
          const page = await fences.lease()
          await fences.settle(page, { acks: [0] })
          await fences.changesNothing(async () => {
            const beyond = await fences.settle(page, { acks: [2], nacks: [nack(7, 0)], releases: [64] })
            assert.deepEqual(beyond, { stale: [], deadLettered: [], finished: false })
          })
        })

        test('that names a slot twice acks it rather than failing it', async fences => {
          await fences.work.publish(2)
          const page = await fences.lease()
          const both = { acks: [0], nacks: [nack(0, 0), nack(1, 0)], releases: [0, 1] }
          assert.equal((await fences.settle(page, both)).finished, true)
          assert.deepEqual(idsOf(await fences.lease()), [page.messages[1]?.id])
        })

        test('that releases a retry does not count its attempt', async fences => {
          await fences.work.publish(1)
          await fences.settle(await fences.lease(), { nacks: [nack(0, 0)] })
          const second = await fences.lease()
          await fences.settle(second, { releases: [0] })
          const again = await fences.lease()
          assert.deepEqual([second.attempts, again.attempts, again.versions], [[2], [2], [3]])
        })

        test('is stale after the lease expired, except for what was settled before', async fences => {
          await fences.work.publish(3)
          const page = await fences.lease()
          await fences.settle(page, { acks: [1] })
          await fences.expire()
          await fences.changesNothing(async () => {
            assert.deepEqual((await fences.settle(page, { acks: [0, 1] })).stale, [0])
            assert.deepEqual((await fences.settle(page, { acks: 'all' })).stale, [0, 2])
            assert.deepEqual((await fences.settle(page, { nacks: [nack(0, 0)], releases: [2, 1] })).stale, [0, 2])
          })
        })

        test('of retries lets the group pass them', async fences => {
          const [, last] = await fences.work.publish(2)
          await fences.settle(await fences.lease(), { acks: [1], nacks: [nack(0, 0)] })
          assert.equal(await fences.watermark(), 0)
          await fences.settle(await fences.lease(), { acks: 'all' })
          await until(async () => (await fences.watermark()) === last, { what: 'the watermark to pass the retry' })
          assert.deepEqual(await fences.unfinished(), [])
        })

        test('that dead-letters completes the message, whether it failed or its lease expired', async fences => {
          await fences.work.publish(2)
          fences.work.topic = await fences.work.store.topics.configure('events', { maxAttempts: 1 })
          const page = await fences.lease({ limit: 1 })
          assert.deepEqual((await fences.settle(page, { nacks: [nack(0, 0)] }, 1)).deadLettered, [0])
          assert.equal((await fences.unfinished()).length, 1)
          await fences.lease({ limit: 1 })
          await fences.database.expireLeases()
          assert.equal((await fences.claim()).deadLettered, 1)
          assert.deepEqual(await fences.unfinished(), [])
        })

        test('that releases suspects leaves them suspects of the same piece', async fences => {
          await fences.work.publish(4)
          await fences.lease()
          await fences.database.expireLeases()
          const piece = await fences.lease({ suspects: 'shared' })
          assert.equal(piece.suspects, 'shared')
          await fences.settle(piece, { releases: piece.messages.map((_, slot) => slot) })
          assert.equal((await fences.claim({ suspects: 'none' })).lease, null)
          const pieces = [await fences.lease({ suspects: 'shared' }), await fences.lease({ suspects: 'shared' })]
          assert.deepEqual(
            pieces.map(({ suspects, size }) => [suspects, size]),
            [
              ['shared', 2],
              ['shared', 2],
            ],
          )
        })

        test('that fails a suspect makes it an ordinary retry', async fences => {
          await fences.work.publish(4)
          await fences.lease()
          await fences.database.expireLeases()
          const piece = await fences.lease({ suspects: 'shared' })
          await fences.settle(piece, { nacks: [nack(0, 0), nack(1, 0)] })
          const failed = await fences.lease({ suspects: 'none' })
          assert.deepEqual([failed.size, failed.suspects, failed.attempts], [2, 'none', [3, 3]])
        })
      })

      describe('a page with messages that are gone', () => {
        for (const kind of ['retries', 'backfilled messages'] as const) {
          test(`of ${kind} keeps the others under their own slots`, async fences => {
            await fences.work.publish(12)
            const lease = await fences.lease()
            const nacks = lease.messages.map((_, slot) => nack(slot, 0))
            await fences.settle(lease, kind === 'retries' ? { nacks } : { acks: 'all' })
            let group = fences.work.group('g')
            if (kind !== 'retries') {
              await fences.work.subscribe('late', 'beginning')
              group = fences.work.group('late')
              await fences.work.backfill('late')
            }
            await fences.database.removeMessagesBelow(10)
            const rest = await fences.lease({ subscription: group })
            assert.deepEqual([rest.size, idsOf(rest)], [12, [10, 11, 12]])
            await fences.settle(rest, { acks: [rest.slots?.[1] ?? 1] })
            assert.deepEqual(
              (await fences.unfinished()).filter(id => id >= 10),
              [10, 12],
            )
            await fences.settle(rest, { acks: 'all' })
            assert.deepEqual(
              (await fences.unfinished()).filter(id => id >= 10),
              [],
            )
          })
        }
      })

      describe('an extension', () => {
        test('is refused after the lease has finished or expired, and changes nothing', async fences => {
          const { leases } = fences.work.store
          await fences.work.publish(2)
          const [finished, expired] = [await fences.lease({ limit: 1 }), await fences.lease({ limit: 1 })]
          assert.equal(await leases.extend(finished.token, HOUR), true)
          await fences.settle(finished, { acks: 'all' })
          await fences.expire()
          await fences.changesNothing(async () => {
            assert.equal(await leases.extend(finished.token, HOUR), false)
            assert.equal(await leases.extend(expired.token, HOUR), false)
          })
        })

        test('without end keeps the lease for ever', async fences => {
          await fences.work.publish(1)
          const lease = await fences.lease({ leaseMs: HOUR })
          assert.equal(await fences.work.store.leases.extend(lease.token, 0), true)
          // Only leases with a deadline expire.
          await fences.database.expireLeases()
          const { takeOvers, nextDueMs } = await fences.claim()
          assert.deepEqual([takeOvers, nextDueMs], [[], null])
        })
      })

      describe('a sweep', () => {
        test('ends only leases of its own group, and only once', async fences => {
          const other = fences.work.group('g')
          await fences.work.subscribe('h')
          await fences.work.publish(1)
          const held = await fences.lease()
          const mine = { subscription: fences.work.group('h') }
          await fences.lease(mine)
          await fences.database.expireLeases()
          const first = await fences.claim(mine)
          assert.equal(first.takeOvers.length, 1)
          assert.deepEqual((await fences.claim(mine)).takeOvers, [])
          // The other group's has not been taken over by anybody.
          assert.deepEqual(await fences.settle(held, { acks: 'all' }), DONE)
          assert.equal((await fences.claim({ subscription: other })).lease, null)
        })

        test('leaves a finished lease alone after its deadline', async fences => {
          await fences.work.publish(2)
          const finished = await fences.lease({ limit: 1, leaseMs: 1 })
          await fences.settle(finished, { acks: 'all' })
          const { token } = await fences.lease({ limit: 1, leaseMs: 1, sweep: false })
          const taken: string[] = []
          await until(
            async () => {
              const { takeOvers } = await fences.claim({ suspects: 'none' })
              taken.push(...takeOvers.map(each => each.token))
              return taken.includes(token)
            },
            { what: 'the second lease to expire' },
          )
          assert.deepEqual(taken, [token])
        })

        test('is due when the next lease expires', async fences => {
          await fences.work.publish(1)
          await fences.lease({ leaseMs: HOUR })
          const { nextDueMs } = await fences.claim()
          assert.ok(nextDueMs !== null && nextDueMs > HOUR / 2 && nextDueMs <= HOUR, `${nextDueMs}`)
          assert.equal((await fences.claim({ sweep: false })).nextDueMs, null)
        })
      })
    })
  }
}

const DONE: SettleResult = { stale: [], deadLettered: [], finished: true }

const nack = (slot: number, delayMs: number) => ({ slot, delayMs, error: ERROR })

const idsOf = ({ messages }: Lease): number[] => messages.map(({ id }) => id)

/** A group 'g' of a topic with reference tracking, used through the store. */
class Fences {
  readonly database: ConformanceDatabase
  readonly work: Work

  constructor(database: ConformanceDatabase, work: Work) {
    this.database = database
    this.work = work
  }

  async claim(given: Partial<ClaimRequest> = {}): Promise<ClaimResult> {
    const { topic, store } = this.work
    const subscription = this.work.group('g')
    const defaults = {
      consumer: 'c',
      limit: 100,
      suspects: 'alone',
      leaseMs: null,
      sweep: true,
      shared: false,
    } as const
    return await store.leases.claim({ topic, subscription, ...defaults, forget: [], ...given })
  }

  /** A claim that must return something. */
  async lease(given: Partial<ClaimRequest> = {}): Promise<Lease> {
    const { lease } = await this.claim(given)
    assert.ok(lease !== null, 'There is nothing to claim')
    return lease
  }

  async settle({ token, size }: Lease, given: Partial<Settlement>, maxAttempts = 5): Promise<SettleResult> {
    const settlement = { token, size, maxAttempts, acks: [], nacks: [], releases: [], ...given }
    const [result] = await this.work.store.leases.settle([settlement])
    assert.ok(result)
    return result
  }

  async setStatus(status: 'ACTIVE' | 'PAUSED'): Promise<void> {
    await this.work.store.subscriptions.setStatus(this.work.topic, this.work.group('g'), status)
  }

  /** All leases with a deadline, as the next claim finds them. It claims nothing: their messages are suspects. */
  async expire(): Promise<void> {
    await this.database.expireLeases()
    await this.claim({ suspects: 'none' })
  }

  async changesNothing(body: () => Promise<void>): Promise<void> {
    const before = await this.database.contents()
    await body()
    assert.deepEqual(await this.database.contents(), before)
  }

  async unfinished(): Promise<number[]> {
    const query = { after: 0, limit: 1_000, unfinished: true }
    return (await this.work.store.tracking.completion(this.work.topic, query)).map(({ id }) => id)
  }

  async watermark(): Promise<number> {
    const { groups } = await this.work.store.inspection.describe(this.work.topic)
    return Number(groups.find(({ group }) => group === 'g')?.watermark)
  }
}
