import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  batchEnvelope,
  batchOf,
  contractsRegistry,
  encodeTick,
  FileSystemStorage,
  makeRunId,
  type Organism,
  openIndex,
  topicOfRun,
} from '@tidemark/pipeline'
import { open } from 'tidemark'
import { MAIN, SMALL_AND_FAST } from '../packages/pipeline/test/whole/world.ts'
import { temporaryFolder } from '../testing/databases.ts'
import { spawnScript } from '../testing/processes.ts'

const EXAMPLE = new URL('population-indexer.ts', import.meta.url)

describe('the indexer of the guide', () => {
  it('counts who is alive in every tick', async () => {
    using folder = temporaryFolder()
    const runId = makeRunId()
    const index = `sqlite:${join(folder.path, 'data/index')}`
    await produce(join(folder.path, 'data'), runId)
    await using database = await openIndex(index, runId)
    await database.metadata.write(metadataOf(runId))
    await using script = spawnScript(EXAMPLE, [runId], { cwd: folder.path })
    await script.waitForLine('indexed ticks 0 to 2')
    const rows = await database.read<object>('select tick, alive, energy from population order by tick')
    assert.deepEqual(
      rows.map(row => ({ ...row })),
      [
        { tick: 0, alive: 1, energy: 0.5 },
        { tick: 1, alive: 2, energy: 2 },
        { tick: 2, alive: 3, energy: 4.5 },
      ],
    )
    script.kill('SIGINT')
    assert.deepEqual(await script.exited, { code: 0, signal: null }, script.errorLines.join('\n'))
  })

  it('runs inside a configuration with everything else, from the command', async () => {
    using folder = temporaryFolder()
    // With nothing installed beside them.
    for (const name of ['population.ts', 'tidemark.config.ts']) {
      copyFileSync(new URL(`population/${name}`, import.meta.url), join(folder.path, name))
    }
    const args = ['start', '--ticks', '30', '--no-server', '--json']
    await using script = spawnScript(MAIN, args, { cwd: folder.path, env: SMALL_AND_FAST })
    assert.deepEqual(await script.exited, { code: 0, signal: null }, script.errorLines.join('\n'))
    const { runId, config } = JSON.parse(script.lines[0] ?? '')
    assert.equal(config, 'tidemark.config.ts')
    await using database = await openIndex(`sqlite:${join(folder.path, 'data/index')}`, runId)
    const [counted] = await database.read<object>('select count(*) as ticks, min(alive) > 0 as lives from population')
    assert.deepEqual({ ...counted }, { ticks: 31, lives: 1 })
  })

  for (const name of ['population/population.ts', 'population/tidemark.config.ts', 'population-indexer.ts']) {
    it(`is what the guide shows: ${name}`, () => {
      const code = readFileSync(new URL(name, import.meta.url), 'utf8')
      const guide = readFileSync(new URL('../docs/internals/writing-an-indexer.md', import.meta.url), 'utf8')
      assert.ok(guide.includes(code), `docs/internals/writing-an-indexer.md differs from examples/${name}`)
      assert.ok(code.trimEnd().split('\n').length < 40)
    })
  }
})

/** Three ticks: in tick n, n + 1 are alive, and one is dead. */
async function produce(folder: string, runId: string): Promise<void> {
  const storage = await FileSystemStorage.open({ root: join(folder, 'storage') })
  const none = new Int32Array()
  const ticks = [0, 1, 2].map(tick => {
    const living = Array.from({ length: tick + 1 }, (_, id) => organism(id, (tick + 1) / 2, false))
    const cells = { flatIndex: none, moleculeType: none, moleculeValue: none, ownerId: none }
    return encodeTick({ runId, tick, capturedAt: 0, cells, organisms: [...living, organism(99, 7, true)] })
  })
  await using topics = await open(`sqlite:${join(folder, 'topics.db')}`, { registry: contractsRegistry })
  const topic = topicOfRun('batch-topic', runId)
  await topics.configureTopic(topic, { semantics: 'pub-sub' })
  await topics.publish(topic, batchEnvelope(await storage.writeBatch(batchOf(ticks))))
}

const organism = (id: number, energy: number, isDead: boolean): Organism => ({
  id,
  parentId: null,
  birthTick: 0,
  lineage: 1,
  energy,
  position: [0, 0],
  direction: [0, 1],
  genome: new Uint8Array(),
  isDead,
})

const metadataOf = (runId: string) => ({
  runId,
  startedAt: 0,
  seed: '1',
  samplingInterval: 1,
  environment: { shape: [10, 10], topology: 'torus' as const },
  settings: '{}',
  moleculeTypes: [],
})
