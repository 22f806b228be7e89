/** The pipeline of two machines, as docs/reference/configuration.md shows it: two processes, a PostgreSQL, a shared storage folder. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CONFIG_TEMPLATE, openIndex, topicOfRun } from '@tidemark/pipeline'
import { open } from 'tidemark'
import { migratedDatabase, temporaryFolder } from '../../../testing/databases.ts'
import { dumpOf } from '../../../testing/index-dump.ts'
import { until } from '../../../testing/until.ts'
import { RUN_ID, SILENT, SMALL_AND_FAST, simulationOption } from '../../pipeline/test/whole/world.ts'
import { startTidemark } from './command.ts'

const LAST_TICK = 400
const SHARED = ['dummy', 'environment', 'organism', 'series'].map(name => `${name}-indexer`)

const SETTINGS = {
  ...SMALL_AND_FAST,
  ...simulationOption('RUN_ID', RUN_ID),
  ...simulationOption('MAX_TICKS', LAST_TICK),
  ...simulationOption('TICKS_PER_SECOND', 100),
  // Batches by number alone: where one ends must not depend on the clock.
  TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__BATCH_TIMEOUT: '10m',
  TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__MAX_BATCH_SIZE: '10',
}

/** A folder of its own for each machine, with the configuration of the documentation in it. */
function machine(folder: string, name: string, database: string, storage: string) {
  const own = join(folder, name)
  mkdirSync(own)
  const config = CONFIG_TEMPLATE.replace(/const topics = .*/, `const topics = process.env.DATABASE_URL ?? ''`)
    .replace(/const indexes = .*/, `const indexes = process.env.DATABASE_URL ?? ''`)
    .replace(/const storage = .*/, `const storage = ${JSON.stringify(storage)}`)
  writeFileSync(join(own, 'tidemark.config.ts'), config)
  const environment = { ...SETTINGS, DATABASE_URL: database }
  return (...args: string[]) =>
    startTidemark(['start', '--config', 'tidemark.config.ts', '--no-server', '--json', ...args], {
      cwd: own,
      environment,
    })
}

async function dump(database: string): Promise<string[]> {
  await using index = await openIndex(database, RUN_ID, { create: false })
  return (await dumpOf(index)).toString().split('\n')
}

/** Batches that this process has acknowledged, of the indexer with the most. */
function indexedBy(out: string): number {
  const lines = out.split('\n').filter(line => line.includes('"event":"progress"'))
  return Math.max(0, ...lines.map(line => JSON.parse(line).indexedBatches as number))
}

describe('two machines with one PostgreSQL and one storage folder', () => {
  it('leave the index of an undisturbed run, even if one of them is killed in the middle', async () => {
    using folder = temporaryFolder()
    const alone = await migratedDatabase()
    const shared = await migratedDatabase()
    try {
      const storage = join(folder.path, 'shared')
      await using undisturbed = machine(folder.path, 'c', alone.url, join(folder.path, 'alone'))()
      await using a = machine(folder.path, 'a', shared.url, storage)()
      await a.waitFor(/"event":"begun"/)
      const b = machine(folder.path, 'b', shared.url, storage)
      const only = SHARED.flatMap(name => ['--only', name])
      await using killed = b(...only, '--run', RUN_ID)
      await until(() => indexedBy(killed.out) > 0, { what: 'a batch that B has indexed', timeout: 60_000 })
      killed.kill('SIGKILL')
      await killed.ended
      // And once more, in time to share the rest of the work.
      await using again = b(...only)
      await again.waitFor(/"event":"begun"/)
      assert.equal(JSON.parse(again.out.split('\n')[0] ?? '').runId, RUN_ID)
      const ended = await a.ended
      assert.equal(ended.code, 0, ended.err)
      again.kill('SIGINT')
      assert.equal((await again.ended).code, 0)
      assert.equal((await undisturbed.ended).code, 0)
      await using topics = await open(shared.url, { maintenance: false, logger: SILENT })
      const groups = await topics.admin.groups(topicOfRun('batch-topic', RUN_ID))
      assert.deepEqual(
        groups.map(({ group, lagMessages, deadLetters }) => ({ group, lagMessages, deadLetters })),
        ['dummy', 'environment', 'organism', 'series'].map(group => ({ group, lagMessages: 0, deadLetters: 0 })),
      )
      assert.deepEqual(await dump(shared.url), await dump(alone.url))
    } finally {
      await alone.drop()
      await shared.drop()
    }
  })
})
