import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { topicSource } from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { metric, World } from '../indexing/world.ts'

const MINUTE_MS = 60_000

for (const engine of ENGINES) {
  describe(`the lease of an indexer, on ${engine.name}`, () => {
    it('applies to its own group only', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(1, 10)
      const leases = { short: '2m', long: '50m' } as const
      for (const [group, lease] of Object.entries(leases)) {
        const source = topicSource(world.tidemark, { group, lease: lease as '2m' })
        // The batch stays in hand: nothing fills the buffer.
        const definition = { name: group, flush: async () => undefined }
        await metric(await world.started({ source, definition }), 'batchesReceived', 1)
      }
      const { claims } = await until(
        async () => {
          const page = await world.tidemark.admin.claims(world.batchTopic)
          return page.claims.length === 2 && page
        },
        { what: 'a claim of each group' },
      )
      const minutes = claims.map(({ group, claimedAt, expiresAt }) => [
        group,
        Math.round(((expiresAt?.getTime() ?? 0) - claimedAt.getTime()) / MINUTE_MS),
      ])
      assert.deepEqual(Object.fromEntries(minutes), { short: 2, long: 50 })
      assert.equal((await world.tidemark.configureTopic(world.batchTopic)).leaseMs, 5 * MINUTE_MS)
    })
  })
}
