/** What is wrong with servers, addresses and streams is said in one error, with what to do. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { DatabaseError, DatabaseFullError, DatabaseUnreachableError, diagnose, migrate, open, repair } from 'tidemark'
import { findFreePort } from '../../../../testing/free-port.ts'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { type NatsCluster, startNats } from '../../../../testing/nats-server.ts'
import { parseAddress } from '../../src/nats/address.ts'
import { Client } from '../../src/nats/client.ts'
import { silent } from '../silent.ts'

const settings = `accounts {
  APP: { jetstream: enabled, users: [{ user: app, password: secret }] }
  NONE: { users: [{ user: none, password: secret }] }
  SMALL: { jetstream: { max_file: 400000, max_mem: 0 }, users: [{ user: small, password: secret }] }
}`

const quick = { requestTimeout: '1s', logger: silent } as object

describe('trouble with NATS servers', { skip: skipWithoutNats() }, () => {
  let cluster: NatsCluster
  let client: Client
  const as = (user: string): string => cluster.url.replace('nats://', `nats://${user}:secret@`)

  before(async () => {
    cluster = await startNats({ settings })
    client = await Client.connect(parseAddress({ url: as('app'), option: 'url' }), { timeoutMs: 2_000, name: 'test' })
  })
  after(async () => {
    await client?.close()
    await cluster?.[Symbol.asyncDispose]()
  })

  const streams = async (namespace: string): Promise<{ log: string; groups: string }> => {
    const names = await client.streams.names(`TM-${namespace}-`)
    return { log: names.find(name => name.includes('-L')) ?? '', groups: names.find(name => name.includes('-G')) ?? '' }
  }

  it('names an address at which nobody listens', async () => {
    const url = `nats://127.0.0.1:${await findFreePort()}`
    await assert.rejects(open(url, quick), (error: Error) => {
      assert.ok(error instanceof DatabaseUnreachableError)
      assert.match(error.message, /Can't reach the database at nats:\/\/127\.0\.0\.1/)
      return true
    })
    const [finding] = await diagnose(url)
    assert.equal(finding?.state, 'bad')
  })

  it('names wrong credentials, and never the password', async () => {
    const url = cluster.url.replace('nats://', 'nats://app:mistyped@')
    await assert.rejects(open(url, quick), (error: Error) => {
      assert.ok(error instanceof DatabaseError)
      assert.match(error.message, /refused the credentials\. Correct the user and password/)
      assert.doesNotMatch(error.message, /mistyped/)
      return true
    })
  })

  it('names a user without JetStream', async () => {
    await assert.rejects(open(as('none'), quick), /has no JetStream for this user\. Add a jetstream block/)
  })

  it('refuses what the address may not say', async () => {
    await assert.rejects(open(`${as('app')}?replicas=9`, quick), /replicas from 1 to 5/)
  })

  it('says that the account is full, and stores again when there is room', async () => {
    await using tm = await open(as('small'), quick)
    await tm.configureTopic('files', { maxMessageBytes: 200_000 })
    const large = { text: randomBytes(75_000).toString('base64') }
    await assert.rejects(
      async () => {
        for (let n = 0; n < 8; n++) await tm.publish('files', large)
      },
      (error: Error) => error instanceof DatabaseFullError && /is full\. Nothing was stored/.test(error.message),
    )
    const findings = await diagnose(as('small'))
    assert.match(findings.find(({ check }) => check === 'storage')?.found ?? '', /kB of 400 kB used/)
    await tm.admin.deleteTopic('files')
    await tm.configureTopic('files', {})
    assert.ok((await tm.publish('files', large)).id > 0)
  })

  it('sets back what somebody has changed of a stream', async () => {
    const options = { ...quick, namespace: 'changed' }
    {
      await using tm = await open(as('app'), options)
      await tm.configureTopic('orders', {})
      await tm.publish('orders', { orderId: 1 })
    }
    const { log } = await streams('changed')
    const { config } = await client.streams.info(log)
    await client.connection.api(`STREAM.UPDATE.${log}`, { ...config, max_age: 3_600e9, discard: 'old' })
    const found = await diagnose(as('app'), { namespace: 'changed' })
    const wrong = found.filter(({ check, state }) => check === 'stream settings' && state === 'bad')
    assert.deepEqual(
      wrong.map(({ found }) => found.replace(/^\S+ /, '')),
      ['discard is "old", not "new"', 'max_age is 3600000000000, not 0'],
    )
    const { problems, changes, mended } = await repair(as('app'), { namespace: 'changed' })
    assert.deepEqual([problems.length, changes.length, mended], [2, 2, true])
    await client.connection.api(`STREAM.UPDATE.${log}`, { ...config, max_age: 3_600e9 })
    await using tm = await open(as('app'), options)
    await tm.configureTopic('orders', {})
    const after = (await client.streams.info(log)).config as { max_age?: number }
    assert.equal(after.max_age ?? 0, 0)
  })

  it('names a stream that somebody has deleted, to whoever publishes, consumes or configures', async () => {
    const options = { ...quick, namespace: 'deleted' }
    await using tm = await open(as('app'), options)
    await tm.configureTopic('orders', {})
    await tm.publish('orders', { orderId: 1 })
    await using reader = tm.reader('orders', { from: 'beginning' })
    assert.ok(await reader.poll(2_000))
    const { log } = await streams('deleted')
    await client.streams.delete(log)
    const missing = new RegExp(`Stream ${log} of topic 'orders' does not exist .* Restore it from a backup`)
    await assert.rejects(tm.publish('orders', { orderId: 2 }), missing)
    await using other = await open(as('app'), options)
    await assert.rejects(other.configureTopic('orders', {}), missing)
    const findings = await diagnose(as('app'), { namespace: 'deleted' })
    assert.match(findings.find(({ check }) => check === 'streams')?.found ?? '', /does not exist/)
  })

  it('passes over a message that somebody else has put into the log', async () => {
    await using tm = await open(as('app'), { ...quick, namespace: 'foreign' })
    await tm.configureTopic('orders', {})
    await tm.publish('orders', { orderId: 1 })
    const { log } = await streams('foreign')
    const subject = `${log.replace(/^TM-(\w+)-L/, 'tm.$1.l.')}.b`
    for (const data of ['', 'hello', 'a much longer text that somebody has published by mistake']) {
      await client.store([{ subject, data: Buffer.from(data) }])
    }
    await tm.publish('orders', { orderId: 2 })
    await using reader = tm.reader<{ orderId: number }>('orders', { from: 'beginning' })
    const seen: number[] = []
    while (seen.length < 2) {
      const delivery = await reader.receive()
      seen.push(delivery.payload.orderId)
      await reader.ack(delivery)
    }
    assert.deepEqual(seen, [1, 2])
  })

  it('makes a namespace with migrate, and finds it in order', async () => {
    const namespace = 'made'
    const before = await diagnose(as('app'), { namespace })
    assert.equal(before.find(({ check }) => check === 'namespace')?.state, 'warn')
    await migrate(as('app'), { namespace })
    await migrate(as('app'), { namespace })
    await using tm = await open(as('app'), { ...quick, namespace })
    await tm.configureTopic('orders', {})
    const findings = await diagnose(as('app'), { namespace })
    assert.deepEqual(
      findings.filter(({ state }) => state !== 'ok'),
      [],
    )
    for (const check of [
      'reachable',
      'server version',
      'storage',
      'streams',
      'replicas',
      'leaders',
      'followers',
      'topics',
    ]) {
      assert.ok(
        findings.some(each => each.check === check),
        check,
      )
    }
  })
})
