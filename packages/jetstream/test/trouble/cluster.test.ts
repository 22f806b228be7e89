/** Trouble that only a cluster, TLS or a restarted server has. `npm run test:jetstream` runs these. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { diagnose, open, type Reader } from 'tidemark'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { startNats } from '../../../../testing/nats-server.ts'
import { until } from '../../../../testing/until.ts'
import { silent } from '../silent.ts'

type Order = { orderId: number }

const skip = skipWithoutNats() || (process.env.TIDEMARK_TEST_JETSTREAM !== '1' && 'runs with npm run test:jetstream')
const options = { replicas: 3, requestTimeout: '2s', logger: silent } as object
/** Longer than another server takes to be elected on a busy machine. */
const patient = { ...options, requestTimeout: '20s' } as object

async function take(reader: Reader<Order>, count: number): Promise<number[]> {
  const seen = new Set<number>()
  while (seen.size < count) {
    const delivery = await reader.receive()
    seen.add(delivery.payload.orderId)
    await reader.ack(delivery)
  }
  return [...seen].toSorted((a, b) => a - b)
}

describe('a NATS cluster in trouble', { skip }, () => {
  it('goes on when a server is lost for good, and the doctor names it', async () => {
    await using cluster = await startNats({ nodes: 3 })
    await using tm = await open(cluster.url, patient)
    await tm.configureTopic('orders', {})
    await using reader = tm.reader<Order>('orders', { from: 'beginning' })
    for (let orderId = 0; orderId < 10; orderId++) await tm.publish('orders', { orderId })
    const [lost] = cluster.nodes
    await lost?.kill()
    for (let orderId = 10; orderId < 20; orderId++) {
      await tm.publish('orders', { orderId }, { messageId: `order-${orderId}` })
    }
    assert.deepEqual(
      await take(reader, 20),
      Array.from({ length: 20 }, (_, n) => n),
    )
    const offline = await until(
      async () => {
        const findings = await diagnose(cluster.url)
        return findings.find(({ check, found }) => check === 'followers' && /is not heard of/.test(found))
      },
      { what: 'the lost server to be noticed' },
    )
    assert.match(offline.found, new RegExp(`^${lost?.name}`))
    assert.match(offline.advice ?? '', /peer-remove/)
  })

  it('says without a quorum what it can not do, closes in time, and goes on when the servers return', async () => {
    await using cluster = await startNats({ nodes: 3 })
    const [, second, third] = cluster.nodes
    const tm = await open(cluster.url, options)
    await tm.configureTopic('orders', {})
    await using observer = await open(cluster.url, options)
    await tm.publish('orders', { orderId: 0 })
    await Promise.all([second?.kill(), third?.kill()])
    // The one that is left believes for a moment that it still leads.
    await until(async () => (await observer.admin.health()).database.unreachableSince, { what: 'the health to tell' })
    const findings = await diagnose(cluster.url)
    assert.equal(
      findings.some(({ state }) => state === 'bad'),
      true,
    )
    const unstored = tm.publish('orders', { orderId: 1 }, { messageId: 'order-1' }).then(
      () => 'stored',
      error => (error as Error).constructor.name,
    )
    await tm.close({ timeout: '3s' })
    assert.notEqual(await unstored, 'stored')
    await Promise.all([second?.start(), third?.start()])
    await using again = await open(cluster.url, patient)
    await again.publish('orders', { orderId: 1 }, { messageId: 'order-1' })
    await using reader = again.reader<Order>('orders', { from: 'beginning' })
    assert.deepEqual(await take(reader, 2), [0, 1])
  })

  it('connects over TLS with the right authority, and says what is wrong without it', async () => {
    using folder = temporaryFolder()
    const [cert, key] = ['cert.pem', 'key.pem'].map(name => join(folder.path, name))
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const files = ['-keyout', key ?? '', '-out', cert ?? '', '-days', '2']
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], { stdio: 'pipe' })
    const settings = `tls { cert_file: ${JSON.stringify(cert)}, key_file: ${JSON.stringify(key)} }`
    await using cluster = await startNats({ settings })
    await assert.rejects(
      open(cluster.url, { logger: silent }),
      /No TLS connection .* '\?tlsCaFile=ca\.pem' in the address/,
    )
    await using tm = await open(`${cluster.url}?tlsCaFile=${encodeURIComponent(cert ?? '')}`, { logger: silent })
    await tm.configureTopic('orders', {})
    assert.ok((await tm.publish('orders', { orderId: 1 })).id > 0)
  })
})
