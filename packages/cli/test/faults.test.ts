import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openIndex } from '@tidemark/pipeline'
import { migratedDatabase, temporaryFolder } from '../../../testing/databases.ts'
import { dumpOf } from '../../../testing/index-dump.ts'
import { journeyOn } from '../../../testing/long.ts'
import { until } from '../../../testing/until.ts'
import { Line } from '../../pipeline/test/line.ts'
import {
  RUN_ID,
  type Settings,
  SMALL_AND_FAST,
  simulationOption,
  startProcess,
} from '../../pipeline/test/whole/world.ts'
import { type RunningCommand, startTidemark } from './command.ts'

const LAST_TICK = 800

const SETTINGS: Settings = {
  ...SMALL_AND_FAST,
  ...simulationOption('RUN_ID', RUN_ID),
  ...simulationOption('MAX_TICKS', LAST_TICK),
  // Batches by number alone: where one ends must not depend on the clock.
  TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__BATCH_TIMEOUT: '10m',
}
/** Long enough for everything to be taken away and given back. */
const SLOWLY = simulationOption('TICKS_PER_SECOND', 50)

type Fault = { readonly what: string; takeAway(): Promise<void>; giveBack(): Promise<void> }

type FaultyPipeline = AsyncDisposable & {
  readonly folder: string
  readonly index: string
  readonly settings: Settings
  readonly faults: readonly Fault[]
}

const moved = (what: string, path: string): Fault => ({
  what,
  takeAway: async () => renameSync(path, `${path}.away`),
  giveBack: async () => renameSync(`${path}.away`, path),
})

/** Another process's transaction, which does not end. */
function locked(what: string, path: string): Fault {
  let db: DatabaseSync | undefined
  return {
    what,
    async takeAway() {
      db = new DatabaseSync(path, { timeout: 5_000 })
      db.exec('begin immediate')
    },
    async giveBack() {
      db?.close()
    },
  }
}

const ENGINES: { readonly [name: string]: () => Promise<FaultyPipeline> } = {
  SQLite: async () => {
    const folder = temporaryFolder()
    return {
      folder: folder.path,
      index: `sqlite:${join(folder.path, 'index')}`,
      settings: { ...SETTINGS, TIDEMARK_PIPELINE__RESOURCES__TOPICS__BUSY_TIMEOUT: '50ms' },
      faults: [
        moved('the index', join(folder.path, 'index')),
        moved('the topics', join(folder.path, 'topics.db')),
        locked('the topics', join(folder.path, 'topics.db')),
        moved('the storage', join(folder.path, 'storage')),
      ],
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    }
  },
  PostgreSQL: async () => {
    const stack = new AsyncDisposableStack()
    const folder = stack.use(temporaryFolder())
    const { url } = stack.use(await migratedDatabase())
    const [topics, index] = [stack.use(await Line.to(url)), stack.use(await Line.to(url))]
    return {
      folder: folder.path,
      index: url,
      settings: {
        ...SETTINGS,
        TIDEMARK_PIPELINE__RESOURCES__TOPICS__URL: topics.url,
        TIDEMARK_PIPELINE__RESOURCES__INDEXES__RUNS__ADDRESS: index.url,
      },
      faults: [
        { what: 'the index', takeAway: () => index.takeAway(), giveBack: () => index.giveBack() },
        { what: 'the topics', takeAway: () => topics.takeAway(), giveBack: () => topics.giveBack() },
        moved('the storage', join(folder.path, 'storage')),
      ],
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  },
}

/** Every change of what /health says, from now on. */
class HealthWatch implements AsyncDisposable {
  readonly changes: boolean[] = []
  readonly #url: string
  readonly #stop = new AbortController()
  readonly #watching: Promise<void>

  constructor(url: string) {
    this.#url = url
    this.#watching = this.#watch()
  }

  get isHealthy(): boolean | undefined {
    return this.changes.at(-1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#watching
  }

  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const answer = await fetch(`${this.#url}/health`).catch(() => undefined)
      if (answer === undefined) return
      const { healthy } = (await answer.json()) as { healthy: boolean }
      assert.equal(answer.status, healthy ? 200 : 503)
      if (healthy !== this.isHealthy) this.changes.push(healthy)
      await delay(20)
    }
  }
}

async function indexedTicks(command: RunningCommand): Promise<number> {
  const last = command.out.trim().split('\n').at(-1) ?? '{}'
  return JSON.parse(last).indexedTicks ?? 0
}

async function leftAlone({ folder, index, settings }: FaultyPipeline): Promise<Buffer> {
  await using script = startProcess(folder, [], settings)
  assert.deepEqual(await script.exited, { code: 0, signal: null }, script.errorLines.join('\n'))
  await using database = await openIndex(index, RUN_ID, { create: false })
  return await dumpOf(database)
}

for (const engine of Object.keys(ENGINES).filter(journeyOn('PostgreSQL'))) {
  const fresh = ENGINES[engine] as () => Promise<FaultyPipeline>
  describe(`tidemark start while index, topics and storage go away and come back, on ${engine}`, () => {
    it('ends with the index of an undisturbed run, unhealthy exactly while something was unavailable', async () => {
      await using undisturbed = await fresh()
      await using disturbed = await fresh()
      const expected = leftAlone(undisturbed)
      expected.catch(() => undefined)
      const args = ['start', '--data', disturbed.folder, '--port', '0', '--json', '--no-demo']
      const environment = { ...disturbed.settings, ...SLOWLY }
      await using command = startTidemark(args, { environment })
      const [, url = ''] = await command.waitFor(/(http:\/\/[\d.:]+)/)
      await until(async () => (await indexedTicks(command)) > 0, { what: 'the first ticks', timeout: 60_000 })
      const changes: boolean[][] = []
      {
        await using health = new HealthWatch(url)
        const becomes = (healthy: boolean, what: string) =>
          until(() => health.isHealthy === healthy, { what: `${what}; so far ${health.changes}`, timeout: 30_000 })
        await becomes(true, 'all to be well')
        for (const { what, takeAway, giveBack } of disturbed.faults) {
          const from = health.changes.length
          await takeAway()
          await becomes(false, `${what} to be missed`)
          const status = await until(
            async () => {
              const { services } = (await (await fetch(`${url}/api/v1/pipeline`)).json()) as {
                services: { state: string; waitingFor: string | null; healthy: boolean }[]
              }
              return services.find(({ state, healthy }) => state === 'WAITING' && !healthy)
            },
            { what: `somebody to wait for ${what}`, timeout: 30_000 },
          )
          assert.match(String(status.waitingFor), new RegExp(what))
          await giveBack()
          await becomes(true, `${what} to be back`)
          changes.push(health.changes.slice(from))
        }
      }
      assert.deepEqual(
        changes,
        disturbed.faults.map(() => [false, true]),
      )
      const { code, out, err } = await command.ended
      assert.equal(code, 0, err)
      assert.equal(JSON.parse(out.trim().split('\n').at(-1) ?? '').ticks, LAST_TICK + 1)
      await using database = await openIndex(disturbed.index, RUN_ID, { create: false })
      // As text first: it shows where they differ.
      const dump = await dumpOf(database)
      assert.deepEqual(dump.toString().split('\n'), (await expected).toString().split('\n'))
    })
  })
}
