/** Invariant 7: a backfill and the live stream together deliver exactly the messages after the start position. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import {
  type ConformanceDatabase,
  type ConformanceStore,
  type ConformanceStores,
  has,
  needs,
} from '../conformance-store.ts'
import type { ConformanceTransaction } from '../hooks.ts'
import { it } from '../it.ts'
import { openStore } from '../open-store.ts'
import { Work } from '../reference.ts'
import { runsOf } from './runs.ts'

type Step =
  | { readonly do: 'publish'; readonly count: number }
  /** Published in a transaction that ends later, if ever. */
  | { readonly do: 'write' | 'commit' | 'rollback'; readonly writer: number }
  /** At the beginning, or at a committed message, inclusive. */
  | { readonly do: 'join'; readonly at: number | null }
  | { readonly do: 'batch'; readonly limit: number }
  | { readonly do: 'take over' | 'cancel' | 'resume' | 'run out' }
  | { readonly do: 'claim'; readonly limit: number; readonly fate: 'ack' | 'release' | 'keep' }

const small = fc.integer({ min: 1, max: 4 })
const writer = fc.integer({ min: 0, max: 2 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('publish'), count: small }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write'), writer }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('commit', 'rollback'), writer }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('join'), at: fc.option(fc.nat(20)) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('batch'), limit: small }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('take over', 'cancel', 'resume', 'run out') }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('claim'), limit: small, fate: fc.constantFrom('ack', 'release', 'keep') }),
  },
) as fc.Arbitrary<Step>

const MESSAGE = { payload: '1', type: null, key: null, headers: null, messageId: null }
export function backfillModel({ shared }: ConformanceStores): void {
  for (const engine of shared) {
    describe(`a late joiner on ${engine.name}, whatever happens`, needs(engine, 'tracking'), () => {
      it('gets every committed message from its start position on, each once', {
        timeout: 240_000,
      }, async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 45 }), async steps => {
            await using database = await engine.fresh()
            await using run = await Run.on(engine, database)
            for (const each of steps) await run.do(each)
            await run.finish()
          }),
          runsOf({ runs: 8, longestSeconds: 120 }),
        )
      })
    })
  }
}

class Run implements AsyncDisposable {
  readonly #database: ConformanceDatabase
  readonly #store: Awaited<ReturnType<typeof openStore>>
  readonly #work: Work
  readonly #writers = new Map<number, { transaction: ConformanceTransaction; ids: number[] }>()
  readonly #committed = new Set<number>()
  /** Before the position at which the group joined. */
  readonly #passed = new Set<number>()
  readonly #named: { readonly id: number; readonly messageId: string }[] = []
  #published = 0
  readonly #acked: number[] = []
  #token = 1
  #joined = false
  readonly #hasTransactions: boolean

  constructor(
    engine: ConformanceStore,
    database: ConformanceDatabase,
    store: Awaited<ReturnType<typeof openStore>>,
    work: Work,
  ) {
    this.#hasTransactions = has(engine, 'concurrent transactions')
    this.#database = database
    this.#store = store
    this.#work = work
  }

  static async on(engine: ConformanceStore, database: ConformanceDatabase): Promise<Run> {
    const store = await openStore(database)
    const work = await Work.on(store, { maxAttempts: 1_000, partitionRows: 20 })
    await work.subscribe('other')
    return new Run(engine, database, store, work)
  }

  async do(step: Step): Promise<void> {
    if (step.do === 'publish') await this.#publish(step.count)
    else if (step.do === 'write') await this.#write(step.writer)
    else if (step.do === 'commit' || step.do === 'rollback') await this.#end(step.writer, step.do)
    else if (step.do === 'join') await this.#join(step.at)
    else if (this.#joined) await this.#doInGroup(step)
  }

  async finish(): Promise<void> {
    await this.#join(null)
    for (const writer of [...this.#writers.keys()]) await this.#end(writer, 'commit')
    await this.#status('RUNNING')
    await this.#database.orphanBackfills()
    await this.#work.backfill('late', 7)
    await this.#database.expireLeases()
    this.#acked.push(...(await this.#work.drain('late', 5)))
    assert.deepEqual(
      this.#acked.toSorted((a, b) => a - b),
      [...this.#wanted].sort((a, b) => a - b),
    )
    const late = [...(await this.#work.completion())].filter(([, { completed }]) => completed.includes('late'))
    assert.deepEqual(new Set(late.map(([id]) => id)), this.#wanted)
  }

  async #publish(count: number): Promise<void> {
    const messages = Array.from({ length: count }, () => ({ ...MESSAGE, messageId: `message ${++this.#published}` }))
    const stored = await this.#store.log.publish(this.#work.topic, messages)
    for (const [at, { id }] of stored.entries()) {
      this.#committed.add(id)
      this.#named.push({ id, messageId: messages[at]?.messageId ?? '' })
    }
  }

  async #join(at: number | null): Promise<void> {
    if (this.#joined) return
    this.#joined = true
    const place = at === null ? undefined : this.#named[at % this.#named.length]
    // What commits later is after every position, whatever its id.
    if (place) for (const id of this.#committed) if (id < place.id) this.#passed.add(id)
    const from = place ? { messageId: place.messageId } : 'beginning'
    await this.#work.subscribe('late', from, { scope: 'retained' })
    await this.#take()
  }

  get #wanted(): Set<number> {
    return this.#committed.difference(this.#passed)
  }

  async #doInGroup(step: Step): Promise<void> {
    if (step.do === 'batch') await this.#batch(step.limit)
    else if (step.do === 'claim') await this.#claim(step.limit, step.fate)
    else if (step.do === 'cancel') await this.#status('CANCELLED')
    else if (step.do === 'resume') await this.#status('RUNNING')
    else if (step.do === 'run out') await this.#database.expireLeases()
    else {
      // The process that ran it was killed; the next one continues.
      await this.#database.orphanBackfills()
      await this.#take()
    }
  }

  async #claim(limit: number, fate: 'ack' | 'release' | 'keep'): Promise<void> {
    const lease = await this.#work.claim('late', limit)
    if (lease === null || fate === 'keep') return
    if (fate === 'ack') {
      this.#acked.push(...lease.messages.map(({ id }) => id))
      await this.#work.ack(lease)
      return
    }
    const { token, size } = lease
    const releases = Array.from({ length: size }, (_, slot) => slot)
    await this.#store.leases.settle([{ token, size, maxAttempts: 1_000, acks: [], nacks: [], releases }])
  }

  async #take(): Promise<void> {
    this.#token++
    await this.#store.backfills.take(this.#uuid(), 60_000, this.#work.group('late'))
  }

  async #batch(limit: number): Promise<void> {
    await this.#store.backfills.runBatch(this.#work.group('late').id, { token: this.#uuid(), limit, ttlMs: 60_000 })
  }

  async #status(status: 'RUNNING' | 'CANCELLED'): Promise<void> {
    await this.#store.backfills
      .setStatus(this.#work.topic, this.#work.group('late'), status)
      // It is already in that state, or complete.
      .catch(() => undefined)
    if (status === 'RUNNING') await this.#take()
  }

  #uuid(): string {
    return `00000000-0000-4000-8000-${String(this.#token).padStart(12, '0')}`
  }

  /** With a single writer, an open transaction would block everybody else. */
  async #write(number: number): Promise<void> {
    if (!this.#hasTransactions) return
    let writer = this.#writers.get(number)
    if (writer === undefined) {
      writer = { transaction: await this.#database.begin(), ids: [] }
      this.#writers.set(number, writer)
    }
    const [published] = await this.#store.log.publish(this.#work.topic, [MESSAGE], writer.transaction.tx)
    if (published) writer.ids.push(published.id)
  }

  async #end(number: number, how: 'commit' | 'rollback'): Promise<void> {
    const writer = this.#writers.get(number)
    if (writer === undefined) return
    this.#writers.delete(number)
    await (how === 'commit' ? writer.transaction.commit() : writer.transaction.rollBack())
    if (how === 'commit') for (const id of writer.ids) this.#committed.add(id)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { transaction } of this.#writers.values()) await transaction.rollBack()
    await this.#store[Symbol.asyncDispose]()
  }
}
