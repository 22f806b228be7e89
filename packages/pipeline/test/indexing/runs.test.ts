import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MetadataIndexer, makeRunId } from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { ackedAre, metric, SILENT, World } from './world.ts'

const DAY_MS = 86_400_000
const EARLIER = makeRunId(Date.now() - 2 * DAY_MS)

/** As one whose process ended long ago. */
async function silentGroup(world: World, topic: string, group: string): Promise<void> {
  await using reader = world.tidemark.reader(topic, {
    group,
    from: 'beginning',
    heartbeat: { timeout: 2, misses: 1 },
  })
  await reader.ready()
}

const groupsOf = async ({ tidemark }: World, topic: string): Promise<string[]> =>
  (await tidemark.admin.groups(topic)).map(({ group }) => group).sort()

async function dies(world: World, topic: string, name: string): Promise<void> {
  await until(
    async () => {
      await world.tidemark.admin.jobs['dead-groups'].runOnce()
      return (await world.tidemark.admin.groups(topic)).some(({ group, status }) => group === name && status === 'DEAD')
    },
    { what: `${name} to be dead` },
  )
}

for (const engine of ENGINES) {
  describe(`groups of earlier runs, on ${engine.name}`, () => {
    it('go when a later run begins and nobody is at them; others stay', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const later = makeRunId(Date.now() + DAY_MS)
      const live = makeRunId(Date.now() - DAY_MS)
      for (const group of [`dummy.${EARLIER}`, `dummy.${later}`, `other.${EARLIER}`, 'dummy.of-somebody']) {
        await silentGroup(world, 'batch-topic', group)
        await dies(world, 'batch-topic', group)
      }
      await using reader = world.tidemark.reader('batch-topic', { group: `dummy.${live}` })
      await reader.ready()
      const watched = await world.started({ insertBatchSize: 10 })
      await world.produce(1, 10)
      await ackedAre(watched, 0)
      assert.deepEqual(
        await groupsOf(world, 'batch-topic'),
        [`dummy.${live}`, `dummy.${later}`, `other.${EARLIER}`, 'dummy.of-somebody', `dummy.${world.runId}`].sort(),
      )
    })

    it('go from the metadata topic as well', async () => {
      await using world = await World.on(engine)
      await silentGroup(world, 'metadata-topic', `metadata.${EARLIER}`)
      await dies(world, 'metadata-topic', `metadata.${EARLIER}`)
      const { storage, tidemark, runId, place } = world
      await using indexer = new MetadataIndexer({ storage, tidemark, runId, index: place.address, logger: SILENT })
      await indexer.start()
      await until(async () => (await groupsOf(world, 'metadata-topic')).includes(`metadata.${runId}`), {
        what: 'its own group',
      })
      assert.deepEqual(await groupsOf(world, 'metadata-topic'), [`metadata.${runId}`])
    })

    it('are not missed by a run that goes on: it gets what it had not indexed, and reads nothing else', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const first = await world.started({ insertBatchSize: 10 })
      await world.produce(3, 10)
      await ackedAre(first, 0, 10, 20)
      await first.indexer.stop()
      await world.produce(2, 10, 30)
      await world.tidemark.admin.removeGroup('batch-topic', `dummy.${world.runId}`)
      const again = await world.started({ insertBatchSize: 10 })
      await ackedAre(again, 30, 40)
      await metric(again, 'batchesSkipped', 3)
      assert.deepEqual(
        again.flushes.flat(),
        Array.from({ length: 20 }, (_, n) => 30 + n),
      )
      assert.equal(await world.unacked(), 0)
      await world.assertIndexed({ batches: 5, ticks: 50 })
    })
  })
}
