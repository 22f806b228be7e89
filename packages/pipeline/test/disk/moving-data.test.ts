import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: data that moves on at exactly this moment can't be had from outside.
import { Allowance } from '../../src/disk/allowance.ts'
import { DiskWatch } from '../../src/disk/disk-watch.ts'
import { SILENT } from '../services/loggers.ts'

const BUDGET = 100_000_000

function watching(allowance: Allowance, { measure, unindexed }: { measure(): number; unindexed(): number }): DiskWatch {
  return new DiskWatch({
    limits: { maxBytes: BUDGET, minFreeBytes: 0 },
    parts: [{ name: 'storage', kind: 'storage', measure: async () => ({ bytes: measure(), reusableBytes: 0 }) }],
    allowance,
    heldBytes: () => 0,
    queuedBytes: () => 0,
    unindexedBytes: async () => {
      const bytes = unindexed()
      return () => bytes
    },
    holdSources: () => undefined,
    makesRoom: false,
    logger: SILENT,
  })
}

describe('data that moves on while the disk is measured', () => {
  it('is not missed when it enters a queue', async () => {
    const allowance = new Allowance()
    let entering = 0
    const watch = watching(allowance, {
      measure: () => {
        allowance.take(entering)
        return 0
      },
      unindexed: () => 0,
    })
    await watch.look()
    const before = allowance.left
    entering = 1_000_000
    await watch.look()
    assert.equal(allowance.left, before - entering)
    await watch.close()
  })

  it('is not missed when it comes from a batch file into an index', async () => {
    const allowance = new Allowance()
    const batch = 10_000_000
    let isIndexed = false
    const watch = watching(allowance, {
      measure: () => {
        const bytes = isIndexed ? batch : 0
        isIndexed = true
        return bytes
      },
      unindexed: () => (isIndexed ? 0 : batch),
    })
    await watch.look()
    const missing = allowance.left
    await watch.look()
    assert.equal(missing, allowance.left)
    await watch.close()
  })
})
