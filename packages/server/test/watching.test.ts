import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serve } from './servers.ts'

const MARKUP = '<img src=x onerror=alert(1)>"\'&'
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
