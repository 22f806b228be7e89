/** Parts that somebody has removed are named, and rights that somebody has taken away. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { DatabaseError, DatabaseFullError, DatabaseUnreachableError, diagnose, open, type Tidemark } from 'tidemark'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { type NatsCluster, startNats } from '../../../../testing/nats-server.ts'
import { until } from '../../../../testing/until.ts'
import { cleanUp } from '../../src/clean-up.ts'
import { parseAddress } from '../../src/nats/address.ts'
import { Client } from '../../src/nats/client.ts'
import { ageMessages, claim, message, openParts, SHORT_LIVED, settle } from '../parts.ts'
import { silent } from '../silent.ts'

const users = (app: string): string => `accounts {
  APP: { jetstream: enabled, users: [{ user: app, ${app} }, { user: operator, password: secret }] }
}`
const USUAL = 'password: secret'

describe('a namespace on NATS JetStream', { skip: skipWithoutNats() }, () => {
  let cluster: NatsCluster
  let client: Client
  const as = (user: string): string => cluster.url.replace('nats://', `nats://${user}:secret@`)
  const opened = (namespace: string): Promise<Tidemark> =>
    open(as('app'), { requestTimeout: '1s', logger: silent, namespace } as object)

  before(async () => {
    cluster = await startNats({ settings: users(USUAL) })
    const address = parseAddress({ url: as('operator'), option: 'url' })
    client = await Client.connect(address, { timeoutMs: 2_000, name: 'test' })
  })
  after(async () => {
    await client?.close()
    await cluster?.[Symbol.asyncDispose]()
  })

  const streamOf = async (namespace: string, kind: string): Promise<string> =>
    (await client.streams.names(`TM-${namespace}-${kind}`))[0] ?? assert.fail('no such stream')
  const purge = (stream: string, filter?: string) =>
    client.connection.api(`STREAM.PURGE.${stream}`, filter === undefined ? {} : { filter })

  const damages: Record<string, { damage(namespace: string): Promise<unknown>; missing: RegExp }> = {
    log: {
      damage: async namespace => await client.streams.delete(await streamOf(namespace, 'L')),
      missing: /Stream TM-log-L.* of topic 'orders' does not exist/,
    },
    groups: {
      damage: async namespace => await client.streams.delete(await streamOf(namespace, 'G')),
      missing: /Stream TM-groups-G.* of topic 'orders' does not exist/,
    },
    document: {
      damage: async namespace => await purge(await streamOf(namespace, 'G')),
      missing: /The document in stream TM-document-G.* of topic 'orders' does not exist/,
    },
  }
  for (const [what, { damage, missing }] of Object.entries(damages)) {
    it(`names the ${what} that a topic has lost, and deletes such a topic`, async () => {
      await using tm = await opened(what)
      await tm.configureTopic('orders', {})
      await using reader = tm.reader('orders', { from: 'beginning' })
      await tm.publish('orders', { orderId: 1 })
      await reader.ack((await reader.poll(5_000)) ?? assert.fail('nothing came'))
      await damage(what)
      await assert.rejects(reader.receive(), missing)
      await assert.rejects(tm.configureTopic('orders', { lease: '1m' }), missing)
      const findings = await diagnose(as('app'), { namespace: what })
      assert.ok(
        findings.some(({ state, found }) => state === 'bad' && /does not exist|has lost its own document/.test(found)),
      )
      // As the error says, also by a process that has never seen it.
      await using other = await opened(what)
      await other.admin.deleteTopic('orders')
      await other.configureTopic('orders', {})
      assert.ok((await other.publish('orders', { orderId: 2 })).id > 0)
    })
  }

  it('names the group whose document somebody has purged', async () => {
    await using tm = await opened('purged')
    await tm.configureTopic('orders', { semantics: 'pub-sub' })
    await using reader = tm.reader('orders', { group: 'email', from: 'beginning' })
    await tm.publish('orders', { orderId: 1 })
    await reader.ack((await reader.poll(5_000)) ?? assert.fail('nothing came'))
    const groups = await streamOf('purged', 'G')
    await purge(groups, `${groups.replace(/^TM-(\w+)-G/, 'tm.$1.g.')}.s.*`)
    await assert.rejects(reader.receive(), /The document of group 'email' of topic 'orders' does not exist/)
    const findings = await diagnose(as('app'), { namespace: 'purged' })
    assert.match(
      findings.find(({ check }) => check === 'documents')?.found ?? '',
      /has lost the document of group 'email'/,
    )
  })

  for (const [what, remove] of [
    ['deleted', (stream: string) => client.streams.delete(stream)],
    ['purged', (stream: string) => purge(stream)],
  ] as const) {
    it(`is not made anew beside its topics when its own stream was ${what}`, async () => {
      const namespace = `stream-${what}`
      {
        await using tm = await opened(namespace)
        await tm.configureTopic('orders', {})
      }
      await remove(`TM-${namespace}-M`)
      await assert.rejects(opened(namespace), /has 2 streams of topics.* Restore it from a backup/)
      assert.equal((await client.streams.names(`TM-${namespace}-`)).filter(name => /-[LG]\d/.test(name)).length, 2)
    })
  }

  it('goes on reading a log that is full, until the clean-up has made room', async () => {
    await using parts = await openParts(as('app'), 'full')
    const { store, ns } = parts
    const topic = await store.topics.configure('work', SHORT_LIVED)
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    const large = (n: number) => message({ n, text: randomBytes(60_000).toString('base64') })
    for (const n of [1, 2, 3]) await store.log.publish(topic, [large(n)])
    const log = await streamOf('full', 'L')
    const { config, state } = await client.streams.info(log)
    await client.connection.api(`STREAM.UPDATE.${log}`, { ...config, max_bytes: state.bytes + 10_000 })
    await assert.rejects(store.log.publish(topic, [large(4)]), DatabaseFullError)
    const lease = (await claim(parts, topic, group)) ?? assert.fail('nothing came')
    assert.equal(lease.messages.length, 3)
    await settle(parts, lease, { acks: 'all' })
    await ageMessages(parts, topic)
    await cleanUp(ns, parts.topics, parts.steward, topic, 1_000)
    assert.equal((await store.log.publish(topic, [large(4)])).length, 1)
    assert.equal((await claim(parts, topic, group))?.messages.length, 1)
  })

  it('is dropped without another one whose name goes on', async () => {
    await using longer = await opened('drop-me')
    await longer.configureTopic('orders', {})
    const shorter = await opened('drop')
    await shorter.configureTopic('orders', {})
    await shorter.dropNamespace()
    assert.equal((await client.streams.names('TM-drop-')).length, 3)
    assert.ok((await longer.publish('orders', { orderId: 1 })).id > 0)
  })

  it('says that credentials were revoked while it was open, and goes on when they are valid again', async () => {
    await using tm = await opened('revoked')
    await tm.configureTopic('orders', {})
    cluster.nodes[0]?.reload(users('password: another'))
    const { error } = await until(
      async () => {
        const { database } = await tm.admin.health()
        return database.error !== null && /credentials/.test(database.error.message) ? database : undefined
      },
      { what: 'the health to tell of the credentials' },
    )
    assert.equal(error?.name, DatabaseUnreachableError.name)
    cluster.nodes[0]?.reload(users(USUAL))
    await until(async () => (await tm.admin.health()).database.reachable, { what: 'the connection' })
    assert.ok((await tm.publish('orders', { orderId: 1 })).id > 0)
  })

  it('says at once which permission is missing, and stores nothing', async () => {
    await using tm = await opened('denied')
    await tm.configureTopic('orders', {})
    await tm.publish('orders', { orderId: 1 })
    for (const [deny, subject] of [
      ['publish: { deny: ["tm.>"] }', 'publish to tm.denied.l.'],
      ['subscribe: { deny: ["_INBOX.>"] }', 'subscribe to _INBOX.'],
    ]) {
      cluster.nodes[0]?.reload(users(`${USUAL}, permissions: { ${deny} }`))
      const denied = await until(
        () =>
          tm.publish('orders', { orderId: 2 }).then(
            () => undefined,
            (error: unknown) => error,
          ),
        { what: 'the permission to be missing' },
      )
      assert.ok(denied instanceof DatabaseError, String(denied))
      assert.ok(denied.message.includes(`may not ${subject}`), denied.message)
      cluster.nodes[0]?.reload(users(USUAL))
      await until(
        () =>
          tm.publish('orders', { orderId: 3 }).then(
            () => true,
            () => false,
          ),
        { what: 'the permission' },
      )
    }
  })
})
