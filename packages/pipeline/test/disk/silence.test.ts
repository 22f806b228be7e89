import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Allowance } from '../../src/disk/allowance.ts'
import { DiskWatch } from '../../src/disk/disk-watch.ts'
import { SILENT } from '../services/loggers.ts'

describe('a part that does not answer', () => {
  it('keeps neither the start nor the size of the others waiting', async () => {
    const silent = { name: 'silent', kind: 'index', measure: () => new Promise<never>(() => undefined) } as const
    const there = { name: 'there', kind: 'storage', measure: async () => ({ bytes: 7, reusableBytes: 2 }) } as const
    const watch = new DiskWatch({
      limits: { maxBytes: null, minFreeBytes: 0 },
      parts: [silent, there],
      allowance: new Allowance(),
      heldBytes: () => 0,
      queuedBytes: () => 0,
      unindexedBytes: async () => 0,
      holdSources: () => undefined,
      logger: SILENT,
    })
    await watch.start()
    assert.equal(watch.status().bytes, 5)
    await watch.close()
  })
})
