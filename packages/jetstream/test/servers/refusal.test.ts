/** A server that is too old, for real: the one of Debian's stable release. It is fetched, so only the full run has it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DatabaseVersionError, open } from 'tidemark'
import { findOldNats } from '../../../../testing/nats-binary.ts'
import { startNats } from '../../../../testing/nats-server.ts'
import '../../src/index.ts'
import { parseAddress } from '../../src/nats/address.ts'
import { Client } from '../../src/nats/client.ts'
import { isFull, onlyFull } from '../parts.ts'

const program = isFull ? findOldNats() : undefined
const skip = program === undefined && (isFull ? 'no old nats-server could be fetched' : onlyFull)

describe('a server that ignores atomic batches', { skip }, () => {
  it('is refused, and keeps no stream of the attempt', async () => {
    await using old = await startNats({ program })
    await assert.rejects(open(old.url, { namespace: 'n' }), (error: Error) => {
      assert.ok(error instanceof DatabaseVersionError)
      assert.match(error.message, /too old: it ignores atomic batches.*2\.12/)
      return true
    })
    const client = await connected(old.url)
    assert.deepEqual(await client.streams.names(''), [])
    await client.close()
  })

  it('that took over a namespace is refused without touching it', async () => {
    await using old = await startNats({ program })
    const client = await connected(old.url)
    // As a newer server would have left it: the old one has dropped the setting.
    const config = { name: 'TM-n-M', subjects: ['tm.n.m.>'], num_replicas: 1, storage: 'file', allow_direct: true }
    await client.connection.api('STREAM.CREATE.TM-n-M', config)
    await client.store([{ subject: 'tm.n.m.ns', data: Buffer.from('{}') }])
    await assert.rejects(open(old.url, { namespace: 'n' }), DatabaseVersionError)
    assert.equal((await client.streams.info('TM-n-M')).state.messages, 1)
    await client.close()
  })
})

const connected = (url: string): Promise<Client> =>
  Client.connect(parseAddress({ url, option: 'url' }), { timeoutMs: 5_000, name: 'test' })
