import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { hashOf, makeToken, parseGrants, startServer } from '@tidemark/server'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
// Inside: hours pass by a clock of the test’s own.
import { Sessions } from '../src/security/sessions.ts'
import { TokenCheck } from '../src/security/token-check.ts'
import { type Answer, SILENT, send, serve, type TestServer } from './servers.ts'

const HOUR = 3_600_000
const admin = makeToken()
const read = makeToken()
const tokens = { admin, read }

type Login = { readonly cookie: string; readonly csrf: string; readonly setCookie: string }

async function login(server: Pick<TestServer, 'post'>, token: string): Promise<Login> {
  const answer = await server.post('/api/v1/session', { token })
  assert.equal(answer.status, 200, answer.text)
  return { ...loginOf(answer), csrf: answer.body.csrf }
}

function loginOf({ headers }: Answer): Omit<Login, 'csrf'> {
  const [setCookie = ''] = headers['set-cookie'] ?? []
  return { setCookie, cookie: setCookie.split(';')[0] ?? '' }
}

describe('a session', () => {
  it('is a cookie that no script and no other site can use, named by the port', async () => {
    await using server = await serve({ tokens })
    const { setCookie, cookie } = await login(server, admin)
    const { port } = new URL(server.url)
    assert.match(
      setCookie,
      new RegExp(`^tidemark_${port}=[\\w.-]+; Path=/; Max-Age=43[12]\\d\\d; HttpOnly; SameSite=Strict$`),
    )
    assert.ok(!setCookie.includes(admin))
    const { body } = await server.get('/api/v1/session', { cookie })
    assert.deepEqual([body.name, body.by, body.roles[0].role], ['admin', 'session', 'admin'])
    assert.equal((await server.get('/api/v1/topics', { cookie: `a=b; ${cookie}; c=d` })).status, 200)
  })

  it('is for TLS only if that is wanted', async () => {
    await using server = await serve({ tokens, secureCookies: true })
    const { setCookie, cookie } = await login(server, admin)
    assert.match(setCookie, /^__Host-tidemark_\d+=.*; Secure$/)
    assert.equal((await server.get('/api/v1/topics', { cookie })).status, 200)
    assert.equal((await server.get('/api/v1/topics', { cookie: cookie.replace('__Host-', '') })).status, 401)
  })

  it('opens the event stream', async () => {
    await using server = await serve({ tokens })
    const { cookie } = await login(server, read)
    const stream = await fetch(`${server.url}/api/v1/events`, { headers: { cookie } })
    assert.equal(stream.status, 200)
    await stream.body?.cancel()
  })

  it('writes only from our own page and with its CSRF token', async () => {
    await using server = await serve({ tokens })
    const { cookie, csrf } = await login(server, admin)
    const other = await login(server, admin)
    const put = (headers: Record<string, string>) =>
      server.call('PUT', '/api/v1/topics/work', { body: {}, headers: { cookie, ...headers } })
    const own = { origin: server.url }
    for (const headers of [
      {},
      own,
      { 'x-csrf-token': csrf },
      { ...own, 'x-csrf-token': '' },
      { ...own, 'x-csrf-token': other.csrf },
      { ...own, 'x-csrf-token': csrf.slice(0, -1) },
      { origin: 'https://evil.example', 'x-csrf-token': csrf },
      { origin: 'http://127.0.0.1:1', 'x-csrf-token': csrf },
      { ...own, 'x-csrf-token': csrf, 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[]) {
      const answer = await put(headers)
      assert.deepEqual([answer.status, answer.body.code], [403, 'TIDEMARK_CROSS_SITE'], JSON.stringify(headers))
    }
    assert.deepEqual(await server.tm.admin.topics(), [])
    assert.equal((await put({ ...own, 'x-csrf-token': csrf, 'sec-fetch-site': 'same-origin' })).status, 200)
  })

  it('reads nothing for a page of another site or port', async () => {
    await using server = await serve({ tokens })
    const { cookie } = await login(server, admin)
    for (const site of ['cross-site', 'same-site']) {
      assert.equal((await server.get('/api/v1/session', { cookie, 'sec-fetch-site': site })).status, 403, site)
    }
    for (const site of ['same-origin', 'none']) {
      assert.equal((await server.get('/api/v1/session', { cookie, 'sec-fetch-site': site })).status, 200, site)
    }
  })

  it('has the roles of its token and no more', async () => {
    await using server = await serve({ tokens })
    const { cookie, csrf } = await login(server, read)
    const headers = { cookie, origin: server.url, 'x-csrf-token': csrf }
    assert.equal(
      (await server.call('PUT', '/api/v1/topics/work', { body: {}, headers })).body.code,
      'TIDEMARK_FORBIDDEN',
    )
  })

  it('cannot be forged, altered, or used at another port', async () => {
    await using server = await serve({ tokens })
    await using other = await serve({ tokens })
    const { cookie } = await login(server, read)
    const [name = '', value = ''] = cookie.split('=')
    const [body = '', seal = ''] = value.split('.')
    const asAdmin = Buffer.from(Buffer.from(body, 'base64url').toString().replace('"read"', '"admin"')).toString(
      'base64url',
    )
    const later = Buffer.from(
      Buffer.from(body, 'base64url')
        .toString()
        .replace(/\d{13}/, '9999999999999'),
    ).toString('base64url')
    for (const wrong of [
      '',
      '.',
      'x.y',
      `${asAdmin}.${seal}`,
      `${later}.${seal}`,
      `${body}.`,
      `${body}.${seal}x`,
      `${value}.x`,
      body,
    ]) {
      assert.equal((await server.get('/api/v1/topics', { cookie: `${name}=${wrong}` })).status, 401, wrong)
    }
    const there = `tidemark_${new URL(other.url).port}=${value}`
    assert.equal((await other.get('/api/v1/topics', { cookie: there })).status, 401)
  })

  it('is new with each login: an earlier cookie is not reused', async () => {
    await using server = await serve({ tokens })
    const planted = await login(server, read)
    const answer = await server.post('/api/v1/session', { token: admin }, { cookie: planted.cookie })
    assert.notEqual(loginOf(answer).cookie, planted.cookie)
    assert.equal((await server.get('/api/v1/session', { cookie: planted.cookie })).body.name, 'read')
  })

  it('ends with the logout, also for copies of the cookie', async () => {
    await using server = await serve({ tokens })
    const { cookie } = await login(server, admin)
    const foreign = { cookie, origin: 'https://evil.example' }
    assert.equal((await server.call('DELETE', '/api/v1/session', { headers: foreign })).status, 403)
    const answer = await server.call('DELETE', '/api/v1/session', { headers: { cookie, origin: server.url } })
    assert.equal(answer.status, 204)
    assert.match(String(answer.headers['set-cookie']), /=; Path=\/; Max-Age=0; HttpOnly/)
    assert.equal((await server.get('/api/v1/topics', { cookie })).status, 401)
    assert.equal((await server.call('DELETE', '/api/v1/session')).status, 204)
  })

  it('survives a restart, but not its token', async () => {
    using folder = temporaryFolder()
    await using topics = await open(`sqlite:${join(folder.path, 'app.db')}`, { logger: SILENT, maintenance: false })
    const start = (admin: string, port: number) => startServer({ port, tokens: { admin }, topics, logger: SILENT })
    const first = await start(admin, 0)
    const port = Number(new URL(first.url).port)
    const { cookie } = await login({ post: (path, body) => send(first.url, 'POST', path, { body }) }, admin)
    await first.close()
    const second = await start(admin, port)
    assert.equal((await send(second.url, 'GET', '/api/v1/topics', { headers: { cookie } })).status, 200)
    await second.close()
    await using third = await start(makeToken(), port)
    assert.equal((await send(third.url, 'GET', '/api/v1/topics', { headers: { cookie } })).status, 401)
  })

  it('is not begun with a wrong token, and not needed if there are none', async () => {
    await using server = await serve({ tokens })
    const wrong = await server.post('/api/v1/session', { token: `${admin}x` })
    assert.deepEqual([wrong.status, wrong.headers['set-cookie']], [401, undefined])
    assert.equal(
      (await server.post('/api/v1/session', { token: admin }, { origin: 'https://evil.example' })).status,
      403,
    )
    await using local = await serve()
    assert.equal((await local.get('/api/v1/session')).body.by, 'local')
    assert.equal((await local.post('/api/v1/session', { token: 'x' })).body.by, 'local')
  })

  it('gives way to a token in the request, right or wrong', async () => {
    await using server = await serve({ tokens })
    const { cookie } = await login(server, admin)
    const headers = { cookie, authorization: `Bearer ${read}` }
    assert.equal((await server.get('/api/v1/session', headers)).body.name, 'read')
    assert.equal((await server.get('/api/v1/session', { cookie, authorization: 'Bearer nobody' })).status, 401)
  })
})

describe('the time of a session', () => {
  it('expires after 12 hours, and begins again while it is used', async context => {
    context.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
    const token = { name: 'a', hash: hashOf(admin), grants: parseGrants('roles', ['read']), expiresAt: null }
    const sessions = new Sessions(new TokenCheck([token], undefined), async () => Buffer.alloc(32, 1))
    const { session, value } = await sessions.begin(token)
    context.mock.timers.tick(5 * HOUR)
    assert.equal(await sessions.renewed(session), undefined)
    context.mock.timers.tick(2 * HOUR)
    const renewed = await sessions.renewed(session)
    assert.ok(renewed !== undefined)
    context.mock.timers.tick(6 * HOUR)
    assert.equal(await sessions.read(value), undefined)
    const current = await sessions.read(renewed.value)
    assert.equal(current?.identity.csrf, session.identity.csrf)
    sessions.end(session)
    assert.equal(await sessions.read(renewed.value), undefined)
  })

  it('is not restarted by a cookie that was renewed before the logout', async context => {
    context.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
    const token = { name: 'a', hash: hashOf(admin), grants: parseGrants('roles', ['read']), expiresAt: null }
    const sessions = new Sessions(new TokenCheck([token], undefined), async () => Buffer.alloc(32, 1))
    const { session } = await sessions.begin(token)
    context.mock.timers.tick(11 * HOUR)
    const copy = await sessions.renewed(session)
    assert.ok(copy !== undefined)
    sessions.end(session)
    context.mock.timers.tick(2 * HOUR)
    // The next logout forgets those whose cookies have expired.
    sessions.end((await sessions.begin(token)).session)
    assert.equal(await sessions.read(copy.value), undefined)
  })

  it('ends with that of the token', async context => {
    context.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
    const token = {
      name: 'a',
      hash: hashOf(admin),
      grants: parseGrants('roles', ['read']),
      expiresAt: Date.now() + 8 * HOUR,
    }
    const sessions = new Sessions(new TokenCheck([token], undefined), async () => Buffer.alloc(32, 1))
    const { session, value } = await sessions.begin(token)
    assert.equal(session.expiresAt, token.expiresAt)
    context.mock.timers.tick(7 * HOUR)
    assert.equal(await sessions.renewed(session), undefined)
    context.mock.timers.tick(HOUR)
    assert.equal(await sessions.read(value), undefined)
  })
})
