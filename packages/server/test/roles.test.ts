/** Every route of the description with every role: who may, gets through the guard; who may not, is refused and changes nothing. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { InvalidReceiptError } from 'tidemark'
import { ROLES, type Role } from '../src/index.ts'
// Inside: the type of what a route asks for, which the options don’t have.
import type { Access } from '../src/security/roles.ts'
import { serve, type TestServer } from './servers.ts'

type Described = { readonly operationId: string; readonly description: string; readonly security?: readonly object[] }

const secretOf = (name: string): string => `${name}-0f3k9q2m7x5v`
const tokens = Object.fromEntries(ROLES.map(role => [role, secretOf(role)])) as { [role in Role]: string }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** What each role may do, once more and by hand: the table of the server is not to be right by definition. */
const MAY: { readonly [role in Role]: readonly Access[] } = {
  metrics: ['any', 'open', 'metrics'],
  read: ['any', 'open', 'metrics', 'read'],
  publish: ['any', 'open', 'publish'],
  consume: ['any', 'open', 'consume'],
  operate: ['any', 'open', 'metrics', 'read', 'operate'],
  admin: ['any', 'open', 'metrics', 'read', 'publish', 'consume', 'operate', 'admin'],
}

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
const routes = Object.entries<Record<string, Described>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

/** As the description tells a client. */
function roleOf({ description }: Described): Access {
  const [, role] = /Needs the role `(\w+)`/.exec(description) ?? []
  if (role !== undefined) return role as Role
  return description.includes('Needs any token.') ? 'any' : 'open'
}

/** A path of which nothing exists: whoever is let in gets another problem. Streams would not end. */
const pathOf = (path: string): string => path.replace(/\{topic\}/, 'none').replace(/\{(\w+)\}/g, '!')

describe('every route', () => {
  let server: TestServer
  before(async () => {
    server = await serve({ tokens })
  })
  after(() => server[Symbol.asyncDispose]())

  it('says in the description which role it needs', () => {
    assert.ok(routes.length > 60)
    for (const { operation } of routes) {
      const isOpen = /Needs no token\./.test(operation.description)
      assert.match(operation.description, /Needs (the role `\w+`|any token|no token)/, operation.operationId)
      assert.equal(isOpen, operation.security?.length === 0, operation.operationId)
    }
    assert.deepEqual(
      routes.filter(({ operation }) => roleOf(operation) === 'open').map(({ operation }) => operation.operationId),
      ['login', 'logout'],
    )
  })

  for (const role of ROLES) {
    it(`lets '${role}' do what it allows, and nothing else`, async () => {
      for (const { method, path, operation } of routes) {
        const needed = roleOf(operation)
        const isStream = operation.operationId === 'events'
        const mayPass = MAY[role].includes(needed)
        if (isStream && mayPass) continue
        const { status, body } = await server.call(method, pathOf(path), { headers: bearer(tokens[role]) })
        const isRefused = status === 403 && body.code === 'TIDEMARK_FORBIDDEN'
        assert.equal(isRefused, !mayPass, `${role}: ${method} ${path} wants ${needed} and answers ${status}`)
        if (needed !== 'open') assert.notEqual(status, 401)
      }
    })
  }

  it('refuses callers without a token', async () => {
    for (const { method, path, operation } of routes) {
      if (roleOf(operation) === 'open') continue
      assert.equal((await server.call(method, pathOf(path))).status, 401, `${method} ${path}`)
    }
    assert.deepEqual(await server.tm.admin.topics(), [])
  })
})

describe('a role that is limited to topics', () => {
  const limited = (...roles: string[]) => ({
    authenticate: () => ({ name: 'shop', roles }),
  })

  it('applies to names with the prefix, and to no other spelling of them', async () => {
    await using server = await serve(limited('publish:orders.', 'read:orders.'))
    const publish = (topic: string) => server.post(`/api/v1/topics/${topic}/messages`, { payload: 1 })
    assert.equal((await publish('orders.new')).status, 201)
    assert.equal((await publish('orders%2Enew')).status, 201)
    for (const other of [
      'orders',
      'Orders.new',
      'ORDERS.NEW',
      'x.orders.new',
      'orders-new',
      'order',
      '%6Frders',
      '..%2Forders.new',
    ]) {
      assert.equal((await publish(other)).status, 403, other)
    }
    assert.deepEqual(
      (await server.tm.admin.topics()).map(({ topic }) => topic),
      ['orders.new'],
    )
  })

  it('sees only its topics in the list', async () => {
    await using server = await serve(limited('read:orders.'))
    for (const topic of ['orders.a', 'orders.b', 'secret']) await server.tm.publish(topic, 1)
    const { body } = await server.get('/api/v1/topics?limit=1')
    assert.deepEqual([body.topics[0].topic, body.next], ['orders.a', 'orders.a'])
    const rest = await server.get(`/api/v1/topics?after=${body.next}`)
    assert.deepEqual(
      [rest.body.topics.map((each: { topic: string }) => each.topic), rest.body.next],
      [['orders.b'], null],
    )
    assert.equal((await server.get('/api/v1/topics/secret')).status, 403)
    assert.equal((await server.get('/api/v1/topics/orders.a/groups')).status, 200)
  })

  it('does nothing outside of topics', async () => {
    await using server = await serve(limited('operate:orders.', 'admin:orders.'))
    for (const path of ['/api/v1/pipeline', '/api/v1/runs', '/api/v1/audit']) {
      assert.equal((await server.get(path)).status, 403, path)
    }
    for (const path of ['/api/v1/jobs/messages/run', '/api/v1/pipeline/stop']) {
      assert.equal((await server.post(path)).status, 403, path)
    }
    assert.equal((await server.call('PUT', '/api/v1/topics/orders.x', { body: {} })).status, 200)
  })

  it('settles and extends only receipts of its topics', async () => {
    await using server = await serve(limited('consume:orders.'))
    for (const topic of ['orders.a', 'secret']) await server.tm.publish(topic, 1)
    const { receipt: foreign } = await server.tm.pull('secret')
    const { body } = await server.post('/api/v1/topics/orders.a/pull')
    assert.equal((await server.post('/api/v1/topics/secret/pull')).status, 403)
    for (const path of ['/api/v1/settle', '/api/v1/extend']) {
      const more = path.endsWith('settle') ? { acks: 'all' } : {}
      assert.equal((await server.post(path, { receipt: foreign, ...more })).status, 403)
      assert.equal((await server.post(path, { receipt: 'x', ...more })).body.code, new InvalidReceiptError('').code)
    }
    assert.equal((await server.post('/api/v1/extend', { receipt: body.receipt })).status, 200)
    assert.equal((await server.post('/api/v1/settle', { receipt: body.receipt, acks: 'all' })).status, 204)
  })

  it('scrapes only the metrics of its topics', async () => {
    await using server = await serve(limited('metrics:orders.'))
    for (const topic of ['orders.a', 'secret']) await server.tm.publish(topic, 1)
    const { status, text } = await server.get('/metrics')
    assert.equal(status, 200)
    assert.match(text, /topic="orders\.a"/)
    assert.doesNotMatch(text, /secret|^tidemark_http|^process_/m)
    assert.equal((await server.get('/health')).status, 403)
  })

  it('receives only events of its topics', async () => {
    await using server = await serve(limited('read:orders.'))
    const response = await fetch(`${server.url}/api/v1/events`)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let heard = ''
    for (const topic of ['secret', 'orders.a']) {
      await server.tm.configureTopic(topic)
      await server.tm.publish(topic, 1)
      await server.tm.admin.deleteTopic(topic)
    }
    const hear = async (what: RegExp) => {
      while (!what.test(heard)) heard += (await reader?.read())?.value ?? ''
    }
    await hear(/topic-deleted.*orders\.a/)
    // What happened in a second is one event for all topics.
    for (const topic of ['secret', 'orders.b']) await server.tm.publish(topic, 1)
    await hear(/event: activity\s.*orders\.b/)
    assert.doesNotMatch(heard, /secret/)
    await reader?.cancel()
  })

  it('shows nothing of the others by HEAD, another method, or a path variant', async () => {
    await using server = await serve(limited('read:orders.', 'publish:orders.'))
    await server.tm.publish('secret', 1)
    for (const method of ['HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'PUT', 'DELETE']) {
      const { status } = await server.call(method, '/api/v1/topics/secret')
      assert.ok(status === 403 || status === 404, `${method}: ${status}`)
    }
    for (const path of [
      'secret/',
      'secret?topic=orders.a',
      'orders.a/../secret',
      'orders.a%2F..%2Fsecret',
      'secret;x=orders.',
      'secret%00orders.',
    ]) {
      assert.ok([400, 403, 404].includes((await server.get(`/api/v1/topics/${path}`)).status), path)
    }
  })
})
