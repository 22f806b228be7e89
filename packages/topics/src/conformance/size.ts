import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStores } from './conformance-store.ts'
import { it } from './it.ts'

export function size({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      it('reports the disk usage of the namespace, which grows with what is published', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ maintenance: false })
        await tm.configureTopic('large')
        const before = await tm.admin.size()
        assert.ok(before.bytes > 0)
        const payload = new Uint8Array(100_000).map((_, at) => (at * 7919) ^ (at >> 3))
        await tm.publishBatch('large', Array<Uint8Array>(20).fill(payload))
        const { bytes, reusableBytes } = await tm.admin.size()
        assert.ok(bytes - before.bytes > 300_000, `${before.bytes} to ${bytes}`)
        assert.ok(reusableBytes >= 0 && reusableBytes < bytes)
      })
    })
  }
}
