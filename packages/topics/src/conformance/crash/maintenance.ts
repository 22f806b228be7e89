import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { inspect } from 'node:util'
import type { Tidemark } from '../../index.ts'
import { cleanerOf, DAY } from '../cleaning.ts'
import type { ConformanceStores } from '../conformance-store.ts'
import { range } from '../consuming.ts'
import { it } from '../it.ts'
import { isLong } from '../long.ts'
import type { Script } from '../script.ts'
import { spawn } from '../spawn.ts'
import { until } from '../until.ts'

const TOPIC = 'events'
const PROCESSES = isLong ? 10 : 4
const RETENTION_MS = 1_000
const GROUPS = ['a', 'b'] as const
const SLOW = { timeout: 200_000 }

type Said = { readonly job: string; readonly busy?: boolean; readonly result?: Record<string, number> }

export function competingMaintenance({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`${PROCESSES} processes that run every maintenance job at once, on ${store.name}`, () => {
      it('clean nothing twice, remove nothing that is needed, and move no watermark back', SLOW, async t => {
        await using database = await store.fresh()
        await using cleaner = await cleanerOf(database)
        const tm = await database.open({ maintenance: false })
        // On a busy machine a lease as short as such a retention would expire, and its messages be redelivered.
        const config = { lease: 0, retention: RETENTION_MS, partitionRows: 50 }
        await tm.configureTopic(TOPIC, { semantics: 'pub-sub', ...config })
        const got = new Map<string, number[]>(GROUPS.map(name => [name, []]))
        for (const name of GROUPS) {
          const group = tm.consumerGroup<number>(TOPIC, name)
          group.addConsumer(name, ({ payload }) => void got.get(name)?.push(payload))
          await group.start({ from: 'beginning' })
        }
        const processes = range(1, PROCESSES).map(() =>
          spawn(store, 'maintainer', [JSON.stringify({ url: database.url })]),
        )
        const traffic = new Traffic(tm, processes)
        try {
          await traffic.until(() => removedBy(processes) > 100, 'the first messages to be removed')
          await traffic.until(() => processes.every(each => ran(each) > 0), 'every process to have run a job')

          await tm.admin.pauseGroup(TOPIC, 'b')
          const before = removedBy(processes)
          const pausedAt = performance.now()
          const isOld = (): boolean => performance.now() - pausedAt > 3 * RETENTION_MS
          await traffic.until(() => isOld() && idle(tm, 'a'), 'messages of the pause to be past their retention')
          await tm.admin.resumeGroup(TOPIC, 'b')
          await traffic.until(() => removedBy(processes) > before + 200, 'removals to go on')

          const all = range(1, traffic.published)
          await traffic.wait(() => GROUPS.every(name => got.get(name)?.length === all.length), 'both to get everything')
          for (const name of GROUPS) assert.deepEqual(sorted(got.get(name) ?? []), all)
          // The newest partition is closed a minute after it was started, at the earliest.
          await cleaner.age(TOPIC, DAY)
          await traffic.wait(async () => (await kept(tm)) === 0, 'everything to be removed')
        } finally {
          for (const each of processes) each.send({ stop: true })
          await Promise.all(processes.map(each => each.exited))
        }
        for (const { errorLines } of processes) assert.deepEqual(errorLines, [])
        assert.equal(removedBy(processes), traffic.published)
        const { groups } = await tm.admin.describeTopic(TOPIC)
        for (const { lost } of groups) assert.equal(lost, 0)
        assert.deepEqual((await tm.admin.health()).inconsistencies, [])
        t.diagnostic(`${traffic.published} messages, ${traffic.looks} looks, ${total(processes, ran)} runs`)
      })
    })
  }
}

/** Publishes and checks the watermarks while the test waits for something. */
class Traffic {
  published = 0
  looks = 0
  readonly #tm: Tidemark
  readonly #processes: readonly Script[]
  readonly #watermarks = new Map<string, bigint>()

  constructor(tm: Tidemark, processes: readonly Script[]) {
    this.#tm = tm
    this.#processes = processes
  }

  async until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const step = async (): Promise<boolean> => {
      const first = this.published + 1
      this.published += 10
      await this.#tm.publishBatch(TOPIC, range(first, this.published))
      await this.#look()
      return await condition()
    }
    await this.wait(step, what)
  }

  async wait(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
    await until(condition, { what, timeout: 60_000 }).catch(async error => {
      const [topic, health] = [await this.#tm.admin.describeTopic(TOPIC), await this.#tm.admin.health()]
      const facts = { topic, health, errors: this.#processes.flatMap(({ errorLines }) => errorLines).slice(0, 3) }
      throw new Error(`${error.message}: ${inspect(facts, { depth: 6 })}`, { cause: error })
    })
  }

  async #look(): Promise<void> {
    const { groups } = await this.#tm.admin.describeTopic(TOPIC)
    for (const { group, watermark } of groups) {
      const before = this.#watermarks.get(group) ?? 0n
      assert.ok(watermark >= before, `the watermark of ${group} went back from ${before} to ${watermark}`)
      this.#watermarks.set(group, watermark)
    }
    this.looks++
  }
}

async function idle(tm: Tidemark, name: string): Promise<boolean> {
  const { groups } = await tm.admin.describeTopic(TOPIC)
  return groups.some(({ group, backlog }) => group === name && backlog === 0)
}

async function kept(tm: Tidemark): Promise<number> {
  const { messages } = await tm.admin.browse(TOPIC, { limit: 1 })
  return messages.length
}

const said = ({ messages }: Script): readonly Said[] => messages as Said[]
const ran = (process: Script): number => said(process).filter(({ result }) => result !== undefined).length
const removed = (process: Script): number => said(process).reduce((sum, { result }) => sum + (result?.removed ?? 0), 0)
const total = (processes: readonly Script[], count: (process: Script) => number): number =>
  processes.reduce((sum, process) => sum + count(process), 0)
const removedBy = (processes: readonly Script[]): number => total(processes, removed)
const sorted = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b)
