import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: a disk that does not answer can’t be had by the test.
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
      unindexedBytes: async () => () => 0,
      holdSources: () => undefined,
      makesRoom: false,
      logger: SILENT,
    })
    await watch.start()
    assert.equal(watch.status().bytes, 5)
    await watch.close()
  })
})

describe('a source that pauses and resumes repeatedly near its budget', () => {
  it('is reported once', async () => {
    const warnings: string[] = []
    const size = { bytes: 0, reusableBytes: 0 }
    const watch = new DiskWatch({
      limits: { maxBytes: 100_000_000, minFreeBytes: 0 },
      parts: [{ name: 'storage', kind: 'storage', measure: async () => ({ ...size }) }],
      allowance: new Allowance(),
      heldBytes: () => 0,
      queuedBytes: () => 0,
      unindexedBytes: async () => () => 0,
      holdSources: () => undefined,
      makesRoom: false,
      logger: { ...SILENT, warn: (_: object, text: string) => void warnings.push(text) },
    })
    const heard: (string | null)[] = []
    watch.listen(reason => heard.push(reason))
    for (const bytes of [0, 100_000_000, 0, 100_000_000, 0, 100_000_000]) {
      size.bytes = bytes
      await watch.look()
    }
    assert.equal(heard.length, 5)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /the source waits for space in the disk budget/)
    await watch.close()
  })
})
