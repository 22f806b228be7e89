/** The bitmaps always agree with what the groups did. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { BackfillError, TooManyGroupsError } from '../../index.ts'
import { type ConformanceDatabase, type ConformanceStores, needs } from '../conformance-store.ts'
import { it } from '../it.ts'
import { openStore } from '../open-store.ts'
import { die, remove, resurrect, Work } from '../reference.ts'
import { until } from '../until.ts'
import { runsOf } from './runs.ts'

const NAMES = ['a', 'b', 'c'] as const
type Name = (typeof NAMES)[number]
type Step =
  | { readonly do: 'publish'; readonly count: number }
  | { readonly do: 'now' | 'beginning' | 'die' | 'come back' | 'cancel' | 'remove'; readonly name: Name }
  | { readonly do: 'ack' | 'bury'; readonly name: Name; readonly limit: number }
  | { readonly do: 'backfill'; readonly name: Name; readonly batches: number }
  | { readonly do: 'clear'; readonly limit: number }
  | { readonly do: 'switch' | 'compare' }

const name = fc.constantFrom(...NAMES)
const small = fc.integer({ min: 1, max: 4 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('publish'), count: small }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('now', 'beginning'), name }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('die', 'come back', 'come back', 'cancel', 'remove'), name }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('ack', 'ack', 'bury'), name, limit: small }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('backfill'), name, batches: small }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('clear'), limit: small }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('switch', 'compare', 'compare') }) },
) as fc.Arbitrary<Step>

export function completionModel({ shared }: ConformanceStores): void {
  for (const engine of shared) {
    describe(`the bitmaps on ${engine.name}, whatever groups do`, needs(engine, 'tracking'), () => {
      it('agree with them', { timeout: 240_000 }, async () => {
        const databases: ConformanceDatabase[] = []
        try {
          await fc.assert(
            fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 50 }), async steps => {
              const database = await engine.fresh()
              databases.push(database)
              await using store = await openStore(database)
              const run = new Run(database, await Work.on(store))
              for (const each of steps) await run.do(each)
              await run.compare()
            }),
            runsOf({ runs: 6, longestSeconds: 120 }),
          )
        } finally {
          for (const database of databases) await database[Symbol.asyncDispose]()
        }
      })
    })
  }
}

type Group = {
  status: 'live' | 'dead' | 'cancelled'
  /** Messages required of it, as the bitmaps will show once everything is cleared and filled. */
  readonly required: Set<number>
  readonly done: Set<number>
  /** What will be required of it again if it is resurrected. */
  readonly missed: Set<number>
}

class Run {
  readonly #database: ConformanceDatabase
  readonly #work: Work
  readonly #groups = new Map<Name, Group>()
  readonly #ids: number[] = []
  /** The last message before tracking was switched on. */
  #before = 0
  #isTracked = true

  constructor(database: ConformanceDatabase, work: Work) {
    this.#database = database
    this.#work = work
  }

  async do(step: Step): Promise<void> {
    if (step.do === 'publish') await this.#publish(step.count)
    else if (step.do === 'switch') await this.#switch()
    else if (step.do === 'compare') await this.compare()
    else if (step.do === 'clear') await this.#work.store.tracking.clearBits(step.limit)
    else if (step.do === 'now' || step.do === 'beginning') await this.#subscribe(step.name, step.do)
    else if ('name' in step) await this.#inGroup(step)
  }

  async #inGroup(step: Extract<Step, { readonly name: Name }>): Promise<void> {
    const group = this.#groups.get(step.name)
    if (group === undefined) return
    if (step.do === 'ack' || step.do === 'bury') await this.#settle(step.name, group, step.do, step.limit)
    else if (step.do === 'backfill') await this.#work.backfill(step.name, 2, step.batches)
    else if (step.do === 'die' && group.status === 'live') await this.#end(step.name, group, 'dead')
    else if (step.do === 'cancel' && group.status !== 'cancelled') await this.#end(step.name, group, 'cancelled')
    else if (step.do === 'remove' && group.status !== 'live' && this.#isTracked) await this.#remove(step.name)
    else if (step.do === 'come back' && group.status === 'dead' && this.#isTracked)
      await this.#comeBack(step.name, group)
  }

  async compare(): Promise<void> {
    if (!this.#isTracked) return
    await this.#finishBackfills()
    await this.#clear()
    const completion = await this.#work.completion()
    for (const id of this.#ids) {
      const row = completion.get(id)
      const listed = row?.required.split(',') ?? []
      const required = [...this.#groups].filter(([name, group]) => {
        // What was completed before tracking was switched on need not be recorded.
        const isOld = id <= this.#before && group.done.has(id)
        return group.required.has(id) && (!isOld || listed.includes(name))
      })
      const done = required.filter(([, group]) => group.done.has(id))
      const names = (list: [Name, Group][]): string =>
        list
          .map(([each]) => each)
          .sort()
          .join()
      const told = row ?? { required: '', completed: '' }
      assert.deepEqual({ id, ...told }, { id, required: names(required), completed: names(done) })
    }
  }

  async #publish(count: number): Promise<void> {
    const ids = await this.#work.publish(count)
    this.#ids.push(...ids)
    for (const { status, required, missed } of this.#groups.values()) {
      for (const id of ids) (status === 'live' ? required : missed).add(id)
    }
  }

  async #subscribe(name: Name, from: 'now' | 'beginning'): Promise<void> {
    if (this.#groups.has(name)) return
    try {
      await this.#work.subscribe(name, from, { scope: 'retained' })
    } catch (error) {
      if (error instanceof TooManyGroupsError) return
      throw error
    }
    this.#groups.set(name, {
      status: 'live',
      required: new Set(from === 'now' ? [] : this.#ids),
      done: new Set(),
      missed: new Set(),
    })
  }

  async #settle(name: Name, group: Group, how: 'ack' | 'bury', limit: number): Promise<void> {
    const lease = await this.#work.claim(name, limit)
    if (lease === null) return
    assert.equal(group.status, 'live')
    for (const { id } of lease.messages) {
      assert.ok(group.required.has(id) && !group.done.has(id), `message ${id} was not for '${name}'`)
      group.done.add(id)
    }
    await this.#work[how](lease)
  }

  async #end(name: Name, group: Group, status: 'dead' | 'cancelled'): Promise<void> {
    if (status === 'dead') await die(this.#database, this.#work, name)
    else await this.#work.store.subscriptions.setStatus(this.#work.topic, this.#work.group(name), 'CANCELLED')
    group.status = status
    for (const id of group.required) {
      if (group.done.has(id)) continue
      group.required.delete(id)
      group.missed.add(id)
    }
  }

  /** What was required and not completed when it died, and what was published meanwhile, is required again. */
  async #comeBack(name: Name, group: Group): Promise<void> {
    await resurrect(this.#work, name)
    group.status = 'live'
    for (const id of group.missed) group.required.add(id)
    group.missed.clear()
  }

  async #remove(name: Name): Promise<void> {
    await remove(this.#work, name)
    this.#groups.delete(name)
  }

  async #switch(): Promise<void> {
    try {
      await this.#work.switchTo(this.#isTracked ? 'offset' : 'reference')
    } catch (error) {
      if (error instanceof BackfillError) return
      throw error
    }
    this.#isTracked = !this.#isTracked
    if (!this.#isTracked) return
    await this.#fill()
    this.#before = this.#ids.at(-1) ?? 0
    for (const group of this.#groups.values()) if (group.status !== 'live') group.required.clear()
  }

  /** Until complete: transactions of other tests on the server may have to end first. */
  async #fill(): Promise<void> {
    await until(
      async () => {
        while (await this.#work.store.tracking.fill(this.#work.topic, 3));
        return !(await this.#database.trackingWaits('to be filled'))
      },
      { what: 'the bitmaps to be filled' },
    )
  }

  async #finishBackfills(): Promise<void> {
    for (const [name, { status }] of this.#groups) {
      if (status !== 'live') continue
      while ((await this.#work.backfill(name)) === 'lost' && (await this.#isRunning(name)))
        await this.#database.orphanBackfills()
    }
  }

  async #isRunning(name: Name): Promise<boolean> {
    return (await this.#work.store.backfills.find(this.#work.group(name)))?.status === 'RUNNING'
  }

  /** Until no ended group is left: transactions of other tests on the server may have to end first. */
  async #clear(): Promise<void> {
    await until(
      async () => {
        await this.#work.clearAll(5)
        return !(await this.#database.trackingWaits('to be cleared'))
      },
      { what: 'the bits to be cleared' },
    )
  }
}
