import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startServer } from '@tidemark/server'
import { serve } from './servers.ts'

describe('topics', () => {
  it('are configured, described, listed page by page and deleted', async () => {
    await using server = await serve()
    const made = await server.call('PUT', '/api/v1/topics/orders', { body: { semantics: 'pub-sub', lease: '1m' } })
    assert.deepEqual([made.status, made.body.config.semantics, made.body.config.leaseMs], [200, 'pub-sub', 60_000])
    for (const topic of ['a', 'b']) await server.tm.configureTopic(topic)
    const first = await server.get('/api/v1/topics?limit=2')
    assert.deepEqual(
      [first.body.topics.map((each: { topic: string }) => each.topic), first.body.next],
      [['a', 'b'], 'b'],
    )
    const second = await server.get('/api/v1/topics?limit=2&after=b')
    assert.deepEqual([second.body.topics.length, second.body.next], [1, null])
    await server.tm.publish('orders', 1)
    const described = await server.get('/api/v1/topics/orders')
    assert.deepEqual([described.body.messagesPublished, described.body.groups], [1, []])
    assert.equal((await server.call('DELETE', '/api/v1/topics/orders')).status, 204)
    const gone = await server.get('/api/v1/topics/orders')
    assert.deepEqual([gone.status, gone.body.code], [404, 'TIDEMARK_TOPIC_NOT_FOUND'])
  })

  it('refuse invalid settings, and say why', async () => {
    await using server = await serve()
    const wrong = await server.call('PUT', '/api/v1/topics/work', { body: { lease: '1x' } })
    assert.deepEqual([wrong.status, wrong.body.code], [400, 'TIDEMARK_VALIDATION'])
    assert.equal(wrong.body.errors[0].path, 'body/lease')
    const unknown = await server.call('PUT', '/api/v1/topics/work', { body: { leese: '1m' } })
    assert.match(unknown.body.errors[0].message, /leese/)
    const together = await server.call('PUT', '/api/v1/topics/work', { body: { tracking: 'reference' } })
    assert.deepEqual([together.status, together.body.code], [400, 'TIDEMARK_CONFIG'])
    await server.tm.publish('work', 1)
    const changed = await server.call('PUT', '/api/v1/topics/work', { body: { semantics: 'pub-sub' } })
    assert.deepEqual([changed.status, changed.body.code], [409, 'TIDEMARK_TOPIC_CONFLICT'])
  })

  it('run maintenance jobs on demand', async () => {
    await using server = await serve()
    const ran = await server.post('/api/v1/jobs/dead-groups/run')
    assert.equal(ran.status, 200)
    assert.equal((await server.post('/api/v1/jobs/nonsense/run')).status, 400)
  })

  it('report their health', async () => {
    await using server = await serve()
    await server.tm.publish('work', 1)
    const { status, body } = await server.get('/api/v1/health')
    assert.deepEqual([status, body.healthy, body.inconsistencies], [200, true, []])
  })
})

describe('the metrics', () => {
  it('show every group from the database, and nothing deleted', async () => {
    await using server = await serve()
    await server.tm.configureTopic('news', { semantics: 'pub-sub' })
    await server.tm.pull('news', 'g')
    await server.tm.publishBatch('news', [1, 2])
    await server.tm.publish('gone', 1)
    await server.tm.admin.stats({ maxAge: 0 })
    const before = (await server.get('/metrics')).text
    assert.match(before, /tidemark_group_lag_messages\{topic="news",group="g"\} 2/)
    assert.match(before, /tidemark_group_status\{topic="news",group="g",status="ACTIVE"\} 1/)
    assert.match(before, /tidemark_topic_removable\{topic="gone"\} 0/)
    assert.match(before, /tidemark_topic_events_total\{event="published",topic="gone",group=""\} 1/)
    assert.match(before, /tidemark_database_up 1/)
    await server.tm.admin.deleteTopic('gone')
    await server.tm.admin.stats({ maxAge: 0 })
    const after = (await server.get('/metrics')).text
    assert.ok(!after.includes('"gone"'))
    assert.match(after, /topic="news"/)
  })

  it('are reported when the database does not answer', async () => {
    await using server = await serve()
    await server.tm.publish('news', 1)
    await server.tm.close()
    const { status, text } = await server.get('/metrics')
    assert.equal(status, 200)
    assert.match(text, /tidemark_database_up 0/)
    assert.match(text, /tidemark_topic_events_total\{event="published",topic="news",group=""\} 1/)
  })
})

describe('messages', () => {
  it('are published one by one and many at once, and browsed', async () => {
    await using server = await serve()
    const path = '/api/v1/topics/work/messages'
    const one = await server.post(path, { payload: { n: 1 }, key: 'k', headers: { h: '1' }, messageId: 'm-1' })
    assert.deepEqual([one.status, one.body.messageId, one.body.duplicate], [201, 'm-1', false])
    const again = await server.post(path, { payload: { n: 1 }, messageId: 'm-1' })
    assert.deepEqual([again.body.id, again.body.duplicate], [one.body.id, true])
    const many = await server.post(`${path}/batch`, {
      messages: [
        { payload: null, key: 'k' },
        { payloadBase64: Buffer.from('bytes').toString('base64') },
        { payloadBase64: 'AQI=', type: 'type.googleapis.com/x.Y' },
      ],
    })
    assert.deepEqual([many.status, many.body.published.length], [201, 3])
    const all = await server.get(path)
    assert.deepEqual(
      all.body.messages.map(({ payload, payloadBase64, type }: Record<string, unknown>) => [
        type,
        payload,
        payloadBase64,
      ]),
      [
        ['json', { n: 1 }, undefined],
        ['json', null, undefined],
        ['bytes', undefined, 'Ynl0ZXM='],
        ['type.googleapis.com/x.Y', undefined, 'AQI='],
      ],
    )
    assert.equal((await server.get(`${path}?key=k`)).body.messages.length, 2)
    assert.equal((await server.get(`${path}?type=bytes`)).body.messages.length, 1)
    const page = await server.get(`${path}?limit=1&order=newest-first`)
    assert.deepEqual([page.body.messages[0].payloadBase64, typeof page.body.next], ['AQI=', 'number'])
    assert.equal((await server.get(`${path}?after=m-1`)).body.messages.length, 3)
    assert.equal((await server.get(`${path}?since=2999-01-01T00:00:00Z`)).body.messages.length, 0)
    const noDay = await server.get(`${path}?since=2026-99-99T00:00:00Z`)
    assert.deepEqual([noDay.status, noDay.body.code], [400, 'TIDEMARK_CONFIG'])
  })

  it('keep numbers that a double would round, as they are written', async () => {
    await using server = await serve()
    const numbers = '[12345678901234567890,-9007199254740993,0.12345678901234567890,1e400,1E5,3]'
    const message = `{"payload":{"at":[${numbers}],"text":"12345678901234567890"},"key":"k"}`
    const headers = { 'content-type': 'application/json' }
    const publish = (path: string, raw: string) =>
      server.call('POST', `/api/v1/topics/exact/messages${path}`, { raw, headers })
    assert.equal((await publish('', message)).status, 201)
    assert.equal((await publish('/batch', `{"messages":[${message},{"payload":18446744073709551616}]}`)).status, 201)
    const { text } = await server.get('/api/v1/topics/exact/messages')
    assert.equal(text.split(`{"at":[${numbers}],"text":"12345678901234567890"}`).length, 3, text)
    assert.match(text, /"payload":18446744073709551616\b/)
    const wrong = await publish('', '{"payload":1,"key":12345678901234567890}')
    assert.deepEqual([wrong.status, wrong.body.errors[0].path], [400, 'body/key'])
    assert.equal((await publish('', '{"payload":{"__proto__":12345678901234567890}}')).status, 400)
  })

  it('are published all or not at all', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work', { maxMessageBytes: 100 })
    const messages = [{ payload: 1 }, { payload: 'x'.repeat(200) }]
    const refused = await server.post('/api/v1/topics/work/messages/batch', { messages })
    assert.deepEqual([refused.status, refused.body.code], [413, 'TIDEMARK_PAYLOAD_TOO_LARGE'])
    assert.equal((await server.get('/api/v1/topics/work/messages')).body.messages.length, 0)
  })

  it('have one payload', async () => {
    await using server = await serve()
    for (const body of [{}, { payload: 1, payloadBase64: 'AQI=' }, { payload: 1, type: 'x' }, { payloadBase64: '!' }]) {
      assert.equal((await server.post('/api/v1/topics/work/messages', body)).status, 400)
    }
  })

  it('without a subscription are refused if the topic says so', async () => {
    await using server = await serve()
    await server.tm.configureTopic('news', { semantics: 'pub-sub', blockPublishWithoutSubscription: true })
    const refused = await server.post('/api/v1/topics/news/messages', { payload: 1 })
    assert.deepEqual([refused.status, refused.body.code], [409, 'TIDEMARK_NO_SUBSCRIPTIONS'])
  })
})

describe('groups', () => {
  it('are paused, resumed, reset, cancelled and removed', async () => {
    await using server = await serve()
    await server.tm.configureTopic('news', { semantics: 'pub-sub' })
    await server.tm.publish('news', 1)
    const group = '/api/v1/topics/news/groups/g'
    const pull = async () =>
      (await server.post('/api/v1/topics/news/pull', { group: 'g', from: 'beginning' })).body.messages
    assert.equal((await pull()).length, 1)
    assert.equal((await server.post(`${group}/pause`)).body.status, 'PAUSED')
    assert.equal((await server.get(group)).body.status, 'PAUSED')
    assert.equal((await server.post(`${group}/resume`)).body.status, 'ACTIVE')
    assert.equal((await server.post(`${group}/resurrect`)).body.code, 'TIDEMARK_INVALID_TRANSITION')
    assert.deepEqual((await server.post(`${group}/acknowledge-loss`)).body, { acknowledged: 0 })
    assert.equal((await pull()).length, 0)
    assert.equal((await server.post(`${group}/reset`, { to: 'beginning' })).status, 200)
    assert.equal((await pull()).length, 1)
    assert.equal((await server.post(`${group}/reset`, { to: { messageId: 'none' } })).status, 404)
    assert.equal((await server.post(`${group}/cancel`)).body.status, 'CANCELLED')
    assert.equal((await server.post(`${group}/resume`)).status, 409)
    assert.equal((await server.call('DELETE', `${group}?timeoutMs=0`)).status, 200)
    assert.equal((await server.get(group)).body.code, 'TIDEMARK_GROUP_NOT_FOUND')
    assert.deepEqual((await server.get('/api/v1/topics/news/groups')).body, { groups: [], next: null })
    for (const name of ['c', 'a', 'b']) await server.tm.pull('news', name)
    const page = (await server.get('/api/v1/topics/news/groups?limit=2')).body
    assert.deepEqual([page.groups.map((each: { group: string }) => each.group), page.next], [['a', 'b'], 'b'])
    assert.equal((await server.get('/api/v1/topics/news/groups?after=b')).body.groups[0].group, 'c')
  })

  it('report their consumers, and what waits to be retried', async () => {
    await using server = await serve()
    await server.tm.configureTopic('news', { semantics: 'pub-sub' })
    const group = '/api/v1/topics/news/groups/g'
    const pull = async () =>
      (await server.post('/api/v1/topics/news/pull', { group: 'g', from: 'beginning', max: 3, consumer: 'c' })).body
    await pull()
    await server.tm.publishMessages('news', [{ payload: 1, key: 'k' }, { payload: 2 }, { payload: 3 }])
    const { receipt, messages } = await pull()
    const [one, two, three] = messages.map((each: { id: number }) => each.id)
    const nacks = [one, two].map(id => ({ id, error: { message: 'not now' }, delay: '1h' }))
    assert.equal((await server.post('/api/v1/settle', { receipt, acks: [three], nacks })).status, 204)
    const first = (await server.get(`${group}/retries?limit=1`)).body
    assert.deepEqual([first.retries.length, first.next, first.retries[0].key], [1, one, 'k'])
    assert.deepEqual([first.retries[0].error.message, first.retries[0].attempts], ['not now', 1])
    assert.ok(new Date(first.retries[0].dueAt).getTime() > Date.now())
    const rest = (await server.get(`${group}/retries?after=${first.next}`)).body
    assert.deepEqual([rest.retries.map((each: { id: number }) => each.id), rest.next], [[two], null])
    const { consumers } = (await server.get(`${group}/consumers`)).body
    assert.deepEqual([consumers.length, consumers[0].consumer], [1, 'c'])
    assert.deepEqual([consumers[0].processed, consumers[0].failed, consumers[0].handler.count], [1, 2, 3])
    assert.equal((await server.get('/api/v1/topics/news/groups/nobody/retries')).status, 404)
  })

  it('of topics tracked by reference are backfilled, and show who has processed what', async () => {
    await using server = await serve()
    await server.tm.configureTopic('news', { semantics: 'pub-sub' })
    await server.tm.publishBatch('news', [1, 2, 3])
    await server.post('/api/v1/topics/news/pull', { group: 'g' })
    const backfill = '/api/v1/topics/news/groups/g/backfill'
    assert.equal((await server.post(backfill)).body.code, 'TIDEMARK_BACKFILL')
    assert.equal((await server.get('/api/v1/topics/news/completion')).body.code, 'TIDEMARK_TOPIC_CONFLICT')
    assert.equal((await server.post('/api/v1/topics/news/tracking', { tracking: 'reference' })).status, 200)
    assert.equal((await server.get(backfill)).status, 404)
    const begun = await server.post(backfill, { preset: 'conservative', from: 'beginning' })
    assert.deepEqual([begun.status, begun.body.processed], [200, 3])
    assert.equal((await server.get(backfill)).body.status, 'COMPLETED')
    assert.equal((await server.post(`${backfill}/cancel`)).status, 409)
    assert.equal((await server.post(`${backfill}/resume`)).status, 409)
    const completion = await server.get('/api/v1/topics/news/completion?limit=2')
    assert.deepEqual([completion.body.completion[0].required, completion.body.next], [['g'], 2])
    const orphans = await server.post('/api/v1/topics/news/complete-orphans', { olderThan: '1h' })
    assert.deepEqual(orphans.body, { completed: 0 })
  })

  it('answer while a slow backfill runs, when it is started and when it is resumed', async () => {
    await using server = await serve()
    await server.tm.configureTopic('news', { semantics: 'pub-sub', tracking: 'reference' })
    await server.tm.publishBatch(
      'news',
      Array.from({ length: 50 }, (_, n) => n),
    )
    await server.post('/api/v1/topics/news/pull', { group: 'g' })
    const backfill = '/api/v1/topics/news/groups/g/backfill'
    const started = await server.post(backfill, { from: 'beginning', scope: 'retained', maxPerSecond: 1 })
    assert.deepEqual([started.status, started.body.status], [200, 'RUNNING'])
    assert.equal((await server.post(`${backfill}/cancel`)).body.status, 'CANCELLED')
    assert.equal((await server.post(`${backfill}/resume`)).body.status, 'RUNNING')
    assert.equal((await server.post(`${backfill}/cancel`)).body.status, 'CANCELLED')
  })
})

describe('claims', () => {
  it('are listed in pages and released', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work', { lease: 0 })
    await server.tm.publishBatch('work', [1, 2, 3])
    const { receipt } = (await server.post('/api/v1/topics/work/pull', { max: 2, consumer: 'gone' })).body
    await server.post('/api/v1/topics/work/pull', { consumer: 'there', lease: '1m' })
    const path = '/api/v1/topics/work/claims'
    const first = (await server.get(`${path}?limit=1&messages=1`)).body
    const [claim] = first.claims
    assert.deepEqual([claim.consumer, claim.expiresAt, claim.unsettled, claim.messages.length], ['gone', null, 2, 1])
    assert.deepEqual([claim.messages[0].attempt, claim.messages[0].version], [1, 1])
    const second = (await server.get(`${path}?limit=1&after=${first.next}`)).body
    assert.deepEqual(
      [second.claims[0].consumer, typeof second.claims[0].expiresAt, second.next],
      ['there', 'string', null],
    )
    assert.equal((await server.get(`${path}?consumer=gone`)).body.claims.length, 1)
    assert.deepEqual((await server.post(`${path}/${claim.id}/release`)).body, {
      topic: 'work',
      group: '',
      consumer: 'gone',
      released: 2,
      deadLettered: 0,
    })
    const again = await server.post(`${path}/${claim.id}/release`)
    assert.deepEqual([again.status, again.body.code], [404, 'TIDEMARK_CLAIM_NOT_FOUND'])
    assert.equal((await server.post('/api/v1/settle', { receipt, acks: 'all' })).status, 409)
    assert.equal((await server.post('/api/v1/topics/work/pull', { max: 2 })).body.messages[0].attempt, 2)
  })
})

describe('dead letters', () => {
  it('are listed, inspected, redriven and discarded', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work', { maxAttempts: 1 })
    await server.tm.publishBatch('work', [1, 2])
    const { receipt, messages } = (await server.post('/api/v1/topics/work/pull', { max: 2 })).body
    const error = { name: 'SmtpError', message: 'no' }
    const nacks = messages.map(({ id }: { id: number }) => ({ id, error }))
    assert.equal((await server.post('/api/v1/settle', { receipt, nacks })).status, 204)
    const letters = '/api/v1/topics/work/dead-letters'
    const { deadLetters, next } = (await server.get(`${letters}?limit=1`)).body
    assert.deepEqual([deadLetters[0].error, deadLetters[0].payload, next], [error, 1, deadLetters[0].id])
    assert.equal((await server.get(`${letters}/${next}`)).body.history[0].name, 'SmtpError')
    assert.equal((await server.get(`${letters}/999`)).status, 404)
    assert.equal((await server.post(`${letters}/redrive`, {})).status, 400)
    assert.deepEqual((await server.post(`${letters}/redrive`, { ids: [next] })).body, {
      redriven: 1,
      matching: 1,
      gone: 0,
      orphaned: 0,
    })
    assert.deepEqual((await server.post(`${letters}/discard`, { errorName: 'SmtpError' })).body, {
      discarded: 1,
      matching: 1,
      gone: 0,
      orphaned: 0,
    })
    assert.deepEqual((await server.get(letters)).body, { deadLetters: [], next: null })
  })
})

describe('a server without topics', () => {
  it('says so', async () => {
    await using bare = await startServer({ port: 0 })
    for (const path of ['/api/v1/topics', '/api/v1/pipeline', '/api/v1/runs', '/api/v1/health']) {
      const answer = await fetch(bare.url + path)
      assert.equal(answer.status, 404)
      assert.equal(((await answer.json()) as { code: string }).code, 'TIDEMARK_NOT_SERVED')
    }
    assert.equal((await fetch(`${bare.url}/health`)).status, 200)
  })
})
