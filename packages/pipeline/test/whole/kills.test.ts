import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { open } from 'tidemark'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { dumpOf } from '../../../../testing/index-dump.ts'
import { journeyOn } from '../../../../testing/long.ts'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import { BATCH_TOPIC, contractsRegistry, FileSystemStorage, openIndex, topicOfRun } from '../../src/index.ts'
import { expectedRows, RUN_ID, type Settings, SILENT, simulationOption, startProcess, tickRows } from './world.ts'

const LAST_TICK = 300
const BATCH = 20
const KILLS = Number(process.env.TIDEMARK_TEST_RUNS || 2)
const MOST_MS = 500
const BEFORE_ANNOUNCING = new URL('scripts/die-before-announcing.ts', import.meta.url)

/** So slow that the kills spread over the run. */
const SETTINGS = {
  ...simulationOption('RUN_ID', RUN_ID),
  ...simulationOption('MAX_TICKS', LAST_TICK),
  ...simulationOption('TICKS_PER_SECOND', 200),
  // Batches by number alone: where one ends must not depend on the clock.
  TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__BATCH_TIMEOUT: '10m',
  TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__MAX_BATCH_SIZE: String(BATCH),
}

/** A data folder, and the databases that a pipeline on it has. */
type PipelineData = AsyncDisposable & {
  readonly folder: string
  readonly topics: string
  readonly index: string
  readonly settings: Settings
}

const ENGINES: { readonly [name: string]: () => Promise<PipelineData> } = {
  SQLite: async () => {
    const folder = temporaryFolder()
    return {
      folder: folder.path,
      topics: `sqlite:${join(folder.path, 'topics.db')}`,
      index: `sqlite:${join(folder.path, 'index')}`,
      settings: SETTINGS,
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    }
  },
  PostgreSQL: async () => {
    const folder = temporaryFolder()
    const { url, drop } = await migratedDatabase()
    const databases = {
      TIDEMARK_PIPELINE__RESOURCES__TOPICS__URL: url,
      TIDEMARK_PIPELINE__RESOURCES__INDEXES__RUNS__ADDRESS: url,
    }
    return {
      folder: folder.path,
      topics: url,
      index: url,
      settings: { ...SETTINGS, ...databases },
      async [Symbol.asyncDispose]() {
        folder[Symbol.dispose]()
        await drop()
      },
    }
  },
}

async function leftAlone({ folder, index, settings }: PipelineData): Promise<{ dump: Buffer; ticks: unknown[] }> {
  await using script = startProcess(folder, [], settings)
  assert.deepEqual(await script.exited, { code: 0, signal: null }, script.errorLines.join('\n'))
  await using database = await openIndex(index, RUN_ID, { create: false })
  return { dump: await dumpOf(database), ticks: await tickRows(database) }
}

/** Some die while they start, most while ticks are at every stage. */
async function killedAtRandom({ folder, settings }: PipelineData, random: SeededRandom): Promise<void> {
  await using script = startProcess(folder, [], settings)
  if (!random.chance(0.2)) await script.waitForLine(/^run /)
  await delay(random.below(MOST_MS))
  script.kill('SIGKILL')
  await script.exited
}

/** With a file stored that nobody was told of. */
async function killedBeforeAnnouncing(place: PipelineData): Promise<void> {
  const env = { ...place.settings, TIDEMARK_TEST_ANNOUNCEMENTS: '2' }
  await using script = startProcess(place.folder, [], env, ['--import', BEFORE_ANNOUNCING.href])
  assert.deepEqual(await script.exited, { code: null, signal: 'SIGKILL' }, script.errorLines.join('\n'))
  const storage = await FileSystemStorage.open({ root: join(place.folder, 'storage') })
  const stored = (await storage.listBatches({ prefix: `${RUN_ID}/` })).items.map(({ key }) => key)
  await using topics = await open(place.topics, { registry: contractsRegistry, maintenance: false, logger: SILENT })
  const { messages } = await topics.admin.browse(topicOfRun(BATCH_TOPIC, RUN_ID), { limit: 1_000 })
  const announced = new Set(messages.map(({ messageId }) => messageId))
  assert.ok(stored.some(key => !announced.has(key)))
}

for (const engine of Object.keys(ENGINES).filter(journeyOn('SQLite'))) {
  const fresh = ENGINES[engine] as () => Promise<PipelineData>
  describe(`the whole pipeline, killed with SIGKILL again and again, on ${engine}`, () => {
    it('leaves the index of an undisturbed run of the same seed, byte for byte', async t => {
      const random = new SeededRandom()
      t.diagnostic(`TIDEMARK_TEST_SEED=${random.seed}`)
      await using undisturbed = await fresh()
      await using disturbed = await fresh()
      const [expected] = await Promise.all([
        leftAlone(undisturbed),
        (async () => {
          await killedBeforeAnnouncing(disturbed)
          for (let kill = 0; kill < KILLS; kill++) await killedAtRandom(disturbed, random)
        })(),
      ])
      assert.deepEqual(expected.ticks, expectedRows(LAST_TICK))
      const { dump } = await leftAlone(disturbed)
      // As text first: it shows where they differ.
      assert.deepEqual(dump.toString().split('\n'), expected.dump.toString().split('\n'))
      assert.ok(dump.equals(expected.dump))
    })
  })
}
