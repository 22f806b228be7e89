import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { batchEnvelope, contractsRegistry } from '@tidemark/pipeline'
import { open } from 'tidemark'
import { freshDatabase } from '../../../testing/databases.ts'
import { SILENT, serve } from './servers.ts'
import { RUN_ID } from './worlds.ts'

const MARKUP = '<img src=x onerror=alert(1)>"\'&'
const BROKEN = Uint8Array.of(255, 255, 255)
const LONG_NAME = `t${'x'.repeat(127)}`

describe('lanes, members and previews over HTTP', () => {
  it('show where a group stands, and that the previewed number is what comes', async () => {
    await using server = await serve()
    await server.tm.configureTopic(LONG_NAME, { semantics: 'pub-sub' })
    await server.tm.pull(LONG_NAME, 'email')
    const messages = Array.from({ length: 50 }, (_, payload) => ({ payload, key: MARKUP }))
    await server.tm.publishMessages(LONG_NAME, messages)
    const { receipt } = await server.tm.pull(LONG_NAME, 'email', { max: 30 })
    assert.ok(receipt !== null)
    const path = `/api/v1/topics/${LONG_NAME}`
    const lanes = await server.get(`${path}/lanes?buckets=10&from=1&to=50`)
    assert.deepEqual([lanes.status, lanes.body.buckets.length, lanes.body.last], [200, 10, 50])
    const [email] = lanes.body.groups
    assert.deepEqual([email.group, email.cursor, email.watermark, email.inFlight], ['email', 30, 0, 30])
    assert.deepEqual([email.leases[0].from, email.leases[0].to], [1, 30])
    const { body } = await server.get(`${path}/groups/email/members`)
    assert.deepEqual([body.members.length, body.members[0].inFlight], [1, 30])

    const preview = await server.post(`${path}/groups/email/reset/preview`, { to: 'beginning' })
    assert.deepEqual(
      [preview.body.direction, preview.body.messages, preview.body.waiting, preview.body.inFlight],
      ['back', 30, 50, 30],
    )
    assert.equal(preview.body.first.key, MARKUP)
    const reset = await server.post(`${path}/groups/email/reset`, { to: 'beginning' })
    assert.equal(reset.body.lagMessages, preview.body.waiting)

    const settings = await server.post(`${path}/config/preview`, { retention: '1h' })
    assert.deepEqual(settings.body.changes, [{ setting: 'retentionMs', from: 86_400_000, to: 3_600_000 }])
  })

  it('say what is wrong, and what is gone', async () => {
    await using server = await serve()
    await server.tm.configureTopic('orders', { semantics: 'pub-sub' })
    await server.tm.pull('orders', 'email')
    const codeOf = async (answer: Promise<{ status: number; body: { code: string } }>) => {
      const { status, body } = await answer
      return [status, body.code]
    }
    assert.deepEqual(await codeOf(server.get('/api/v1/topics/orders/lanes?from=9&to=1')), [400, 'TIDEMARK_BAD_REQUEST'])
    assert.deepEqual(await codeOf(server.get('/api/v1/topics/orders/lanes?buckets=1001')), [400, 'TIDEMARK_VALIDATION'])
    assert.deepEqual(await codeOf(server.get('/api/v1/topics/none/lanes')), [404, 'TIDEMARK_TOPIC_NOT_FOUND'])
    await server.tm.admin.removeGroup('orders', 'email')
    const gone = [404, 'TIDEMARK_GROUP_NOT_FOUND']
    assert.deepEqual(await codeOf(server.get('/api/v1/topics/orders/groups/email/members')), gone)
    const preview = server.post('/api/v1/topics/orders/groups/email/reset/preview', { to: 'now' })
    assert.deepEqual(await codeOf(preview), gone)
  })
})

describe('messages over HTTP', () => {
  it('come cut, with their size, and whole when they are asked for', async () => {
    await using server = await serve()
    await server.tm.configureTopic('large', { maxMessageBytes: 4 * 1024 * 1024 })
    const text = 'ä'.repeat(5_000)
    await server.tm.publish('large', { text }, { key: MARKUP })
    await server.tm.publish('large', new Uint8Array(2 * 1024 * 1024))
    await server.tm.publish('large', { n: 12345678901234567890n.toString() })
    const messages = '/api/v1/topics/large/messages'
    const { body } = await server.get(`${messages}?payloadBytes=4096&decode=true`)
    const [cut, huge, small] = body.messages
    assert.deepEqual([cut.payloadTruncated, cut.payloadSize, cut.payload], [true, 10_011, undefined])
    assert.equal(Buffer.from(cut.payloadBase64, 'base64').length, 4_096)
    assert.equal(cut.key, MARKUP)
    assert.deepEqual([huge.payloadTruncated, huge.payloadSize, huge.payloadBase64], [true, 2_097_152, undefined])
    assert.deepEqual([small.payloadTruncated, small.payload.n], [false, '12345678901234567890'])
    const whole = await server.get(`${messages}/1`)
    assert.deepEqual([whole.status, whole.body.payload.text], [200, text])
    assert.deepEqual(whole.body.groups, [])
    const nobody = await server.get(`${messages}?key=nobody`)
    assert.deepEqual([nobody.body.messages, nobody.body.next], [[], null])
    assert.deepEqual([nobody.body.searched.first, nobody.body.searched.last], [1, 3])
    assert.ok(nobody.body.searched.kept >= 3)
    const gone = await server.get(`${messages}/99`)
    assert.deepEqual([gone.status, gone.body.code], [404, 'TIDEMARK_NOT_FOUND'])
    assert.equal((await server.get(`${messages}/x`)).status, 400)
    assert.equal((await server.get(`${messages}?payloadBytes=-1`)).status, 400)
  })

  it('of the pipeline are decoded, without their envelope', async () => {
    const database = await freshDatabase()
    await using tm = await open(database.url, { logger: SILENT, maintenance: false, registry: contractsRegistry })
    await using server = await serve({ topics: tm })
    const info = { runId: RUN_ID, storageKey: 'a/b', tickStart: 0, tickEnd: 9, tickCount: 10, writtenAt: 5 }
    await tm.publish('batches', batchEnvelope(info))
    await tm.publish('batches', create(AnySchema, { typeUrl: 'x/tidemark.pipeline.v1.TopicEnvelope', value: BROKEN }))
    await tm.publish('batches', create(AnySchema, { typeUrl: 'x/unknown.Type', value: BROKEN }))
    const { body } = await server.get('/api/v1/topics/batches/messages?decode=true')
    const [batch, ...others] = body.messages
    assert.equal(batch.decoded.type, 'tidemark.pipeline.v1.BatchInfo')
    assert.deepEqual([batch.decoded.value.simulationRunId, batch.decoded.value.tickEnd], [RUN_ID, '9'])
    assert.deepEqual(
      others.map((each: { decoded?: unknown }) => each.decoded),
      [undefined, undefined],
    )
    const one = await server.get('/api/v1/topics/batches/messages/1?decode=true')
    assert.equal(one.body.decoded.type, 'tidemark.pipeline.v1.BatchInfo')
    await database.drop()
  })
})

describe('dead letters by kind of error over HTTP', () => {
  it('are one line, counted before they are redriven or discarded', async () => {
    await using server = await serve()
    await server.tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 1 })
    await server.tm.pull('orders', 'email')
    await server.tm.publishMessages(
      'orders',
      Array.from({ length: 6 }, (_, payload) => ({ payload, key: MARKUP })),
    )
    const { receipt, messages } = await server.tm.pull('orders', 'email', { max: 6 })
    assert.ok(receipt !== null)
    await server.tm.settle(receipt, {
      nacks: messages.map(({ id }) => ({ id, error: new Error(`mailbox 'customer-${id}' full`) })),
    })
    const { body } = await server.get('/api/v1/dead-letters/errors?topic=orders&group=email')
    assert.deepEqual([body.errors.length, body.errors[0].count, body.complete], [1, 6, true])
    assert.match(body.errors[0].error, /mailbox <…> full$/)
    const { fingerprint } = body.errors[0]
    const letters = '/api/v1/topics/orders/dead-letters'
    const listed = await server.get(`${letters}?fingerprint=${fingerprint}&key=${encodeURIComponent(MARKUP)}&limit=4`)
    assert.deepEqual([listed.body.deadLetters.length, typeof listed.body.next], [4, 'number'])
    const dry = await server.post(`${letters}/redrive`, { fingerprint, dryRun: true })
    assert.deepEqual(dry.body, { redriven: 0, matching: 6, gone: 0, orphaned: 0 })
    const one = await server.post(`${letters}/redrive`, { fingerprint, limit: 1 })
    assert.equal(one.body.redriven, 1)
    const counted = await server.post(`${letters}/discard`, { fingerprint, dryRun: true })
    assert.deepEqual([counted.body.discarded, counted.body.matching], [0, 5])
    const discarded = await server.post(`${letters}/discard`, { fingerprint })
    assert.deepEqual([discarded.body.discarded, discarded.body.matching], [5, 5])
    const wrong = await server.post(`${letters}/redrive`, { fingerprint: 'all' })
    assert.equal(wrong.status, 400)
  })
})
