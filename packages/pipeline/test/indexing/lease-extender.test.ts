import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { StaleDeliveryError } from 'tidemark'
import { until } from '../../../../testing/until.ts'
// Inside: the indexers extend on a timer of their own, and the race with an acknowledgement needs one to hold.
import { LeaseExtender } from '../../src/services/indexing/lease-extender.ts'

describe('extending the leases of held batches', () => {
  it('ignores one that is being acknowledged, and reports an outage once', async () => {
    const noted: string[] = []
    using extender = new LeaseExtender(1, action => noted.push(action))
    let tries = 0
    const failing = (key: string, error: Error) => ({
      key,
      async extend(): Promise<void> {
        tries++
        throw error
      },
    })
    extender.add(failing('acknowledged', new StaleDeliveryError('batches', 'indexer', '1', 1)))
    extender.add(failing('unreachable', new Error('the database is away')))
    await until(() => tries > 10, { what: 'several tries of both' })
    assert.deepEqual(noted, ['extend unreachable'])
  })
})
