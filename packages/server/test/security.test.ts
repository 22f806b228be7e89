import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, it } from 'node:test'
import { startServer } from '@tidemark/server'
import { ConfigError } from 'tidemark'
import { until } from '../../../testing/until.ts'
import { type Answer, SILENT, serve } from './servers.ts'

const READ = 'read-token-0123456789'
const ADMIN = 'admin-token-0123456789'
const tokens = { read: READ, admin: ADMIN }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

function isProblem(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['content-type'], 'application/problem+json')
  assert.deepEqual([answer.body.status, answer.body.code], [status, code])
  assert.ok(answer.body.detail.length > 10)
}

describe('without tokens', () => {
  it('no address that others can reach is listened on', async () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.org', '1.127.0.1']) {
      await assert.rejects(startServer({ host, port: 0, logger: SILENT }), ConfigError)
    }
  })

  it('everybody on this machine may do everything', async () => {
    await using server = await serve()
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+$/)
    assert.equal((await server.call('PUT', '/api/v1/topics/work', { body: {} })).status, 200)
  })
})

describe('with tokens', () => {
  it('every route requires one, including the description and unknown routes', async () => {
    await using server = await serve({ tokens })
    for (const path of [
      '/health',
      '/metrics',
      '/api/v1/',
      '/api/v1/openapi.json',
      '/api/v1/topics',
      '/api/v1/events',
      '/x',
    ]) {
      const answer = await server.get(path)
      isProblem(answer, 401, 'TIDEMARK_UNAUTHORIZED')
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/)
    }
    isProblem(await server.get('/%zz'), 401, 'TIDEMARK_UNAUTHORIZED')
  })

  it('a wrong one, a part of one, and one in another place are refused', async () => {
    await using server = await serve({ tokens })
    const wrong = ['', 'Bearer', 'Bearer ', `Bearer ${READ.slice(0, -1)}`, `Bearer ${READ}x`, `Basic ${READ}`, READ]
    for (const authorization of [...wrong, `Bearer ${READ} ${ADMIN}`, `Bearer ${READ.toUpperCase()}`]) {
      isProblem(await server.get('/api/v1/topics', { authorization }), 401, 'TIDEMARK_UNAUTHORIZED')
    }
    isProblem(await server.get(`/api/v1/topics?token=${ADMIN}`), 401, 'TIDEMARK_UNAUTHORIZED')
    isProblem(await server.get('/api/v1/topics', { cookie: `token=${ADMIN}` }), 401, 'TIDEMARK_UNAUTHORIZED')
  })

  it('the read token reads and changes nothing', async () => {
    await using server = await serve({ tokens })
    assert.equal((await server.get('/api/v1/topics', bearer(READ))).status, 200)
    const headers = bearer(READ)
    isProblem(await server.call('PUT', '/api/v1/topics/work', { body: {}, headers }), 403, 'TIDEMARK_FORBIDDEN')
    isProblem(await server.call('DELETE', '/api/v1/topics/work', { headers }), 403, 'TIDEMARK_FORBIDDEN')
    isProblem(await server.post('/api/v1/topics/work/messages', { payload: 1 }, headers), 403, 'TIDEMARK_FORBIDDEN')
    assert.deepEqual(await server.tm.admin.topics(), [])
  })

  it('the admin token does everything', async () => {
    await using server = await serve({ tokens })
    assert.equal((await server.call('PUT', '/api/v1/topics/work', { body: {}, headers: bearer(ADMIN) })).status, 200)
    assert.equal((await server.get('/api/v1/topics/work', bearer(ADMIN))).status, 200)
  })

  it('they are long enough, different, and never shown', async () => {
    for (const wrong of [{ read: 'short' }, { admin: '' }, { read: ADMIN, admin: ADMIN }, { admin: `${ADMIN}\n` }]) {
      await assert.rejects(startServer({ port: 0, tokens: wrong }), (error: Error) => {
        assert.ok(error instanceof ConfigError)
        assert.ok(!error.message.includes(ADMIN) && !error.message.includes("'short'"))
        return true
      })
    }
  })
})

describe('the log', () => {
  it('has no token and no payload, whatever happens', async () => {
    const lines: string[] = []
    const write = (fields: object, message: string) => {
      lines.push(JSON.stringify({ ...fields, ...('err' in fields && { err: String(fields.err) }) }) + message)
    }
    const logger = { debug: write, info: write, warn: write, error: write }
    await using server = await serve({ tokens, logger })
    await server.get('/api/v1/topics', bearer('wrong-token-0123456789'))
    await server.get(`/api/v1/topics/none?token=${READ}`, bearer(READ))
    await server.post('/api/v1/topics/work/messages', { payload: 'top-secret' }, bearer(ADMIN))
    await server.post('/api/v1/topics/work/messages', { payload: 'top-secret', wrong: 1 }, bearer(ADMIN))
    assert.ok(lines.length >= 3)
    assert.deepEqual(
      lines.filter(line => /token-\d|top-secret/.test(line)),
      [],
    )
  })
})

describe('a foreign Host', () => {
  it('is refused on the loopback address too (DNS rebinding)', async () => {
    await using server = await serve()
    for (const host of [
      'evil.example',
      'evil.example:4680',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      '192.168.7.7',
    ]) {
      isProblem(await server.get('/api/v1/topics', { host }), 403, 'TIDEMARK_HOST_NOT_ALLOWED')
    }
    for (const host of ['localhost', 'localhost:1', '127.0.0.1', 'LOCALHOST', '[::1]:80']) {
      assert.equal((await server.get('/api/v1/topics', { host })).status, 200, host)
    }
  })

  const address = Object.values(networkInterfaces())
    .flat()
    .find(each => each?.family === 'IPv4' && !each.internal)?.address
  const skip = address === undefined && 'this machine has no address besides the loopback one'

  it('localhost is refused on another address than the loopback one', { skip }, async () => {
    await using server = await serve({ host: String(address), tokens })
    const get = (host: string) => server.get('/api/v1/topics', { host, ...bearer(ADMIN) })
    for (const host of ['localhost', 'localhost:1', '127.0.0.1', '[::1]']) {
      isProblem(await get(host), 403, 'TIDEMARK_HOST_NOT_ALLOWED')
    }
    assert.equal((await get(String(address))).status, 200)
  })

  it('is accepted if it is allowed', async () => {
    await using server = await serve({ allowedHosts: ['Tidemark.example'] })
    assert.equal((await server.get('/api/v1/topics', { host: 'tidemark.example:8443' })).status, 200)
    isProblem(await server.get('/api/v1/topics', { host: 'x.tidemark.example' }), 403, 'TIDEMARK_HOST_NOT_ALLOWED')
  })
})

describe('a page of another site', () => {
  it('can change nothing', async () => {
    await using server = await serve()
    const { host } = new URL(server.url)
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://${host}.evil.example` },
      { origin: `ftp://${host}` },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const answer = await server.post('/api/v1/topics/work/messages', { payload: 1 }, headers as never)
      isProblem(answer, 403, 'TIDEMARK_CROSS_SITE')
    }
    assert.deepEqual(await server.tm.admin.topics(), [])
  })

  it('may not read', async () => {
    await using server = await serve()
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'PUT' }
    const asked = await server.call('OPTIONS', '/api/v1/topics', { headers: preflight })
    const read = await server.get('/api/v1/topics', { origin: 'https://evil.example' })
    for (const { headers } of [asked, read]) {
      assert.deepEqual(
        Object.keys(headers).filter(name => name.startsWith('access-control')),
        [],
      )
    }
    assert.equal(read.headers['cross-origin-resource-policy'], 'same-origin')
  })

  it('may write if it is of this server', async () => {
    await using server = await serve()
    const headers = { origin: server.url, 'sec-fetch-site': 'same-origin' }
    assert.equal((await server.post('/api/v1/topics/work/messages', { payload: 1 }, headers)).status, 201)
  })
})

describe('a body', () => {
  it('of a type that a form can send is refused', async () => {
    await using server = await serve()
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'TEXT/PLAIN; a=b',
    ]) {
      const call = { raw: '{"payload":1}', headers: { 'content-type': type } }
      isProblem(await server.call('POST', '/api/v1/topics/work/messages', call), 415, 'TIDEMARK_UNSUPPORTED_MEDIA_TYPE')
    }
    for (const type of ['application/xml', 'application/octet-stream', 'image/png', 'nonsense', 'application/jsonx']) {
      const call = { raw: '{"payload":1}', headers: { 'content-type': type } }
      isProblem(await server.call('POST', '/api/v1/topics/work/messages', call), 415, 'TIDEMARK_UNSUPPORTED_MEDIA_TYPE')
    }
    const call = { raw: '{"payload":1}', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }
    isProblem(await server.call('POST', '/api/v1/topics/work/messages', call), 415, 'TIDEMARK_UNSUPPORTED_MEDIA_TYPE')
    assert.deepEqual(await server.tm.admin.topics(), [])
  })

  it('that is too large is refused, announced or not', async () => {
    await using server = await serve({ limits: { bodyBytes: 10_000 } })
    const raw = JSON.stringify({ payload: 'x'.repeat(20_000) })
    for (const headers of [{ 'content-length': String(raw.length) }, { 'transfer-encoding': 'chunked' }]) {
      const call = { raw, headers: { 'content-type': 'application/json', ...headers } as Record<string, string> }
      isProblem(await server.call('POST', '/api/v1/topics/work/messages', call), 413, 'TIDEMARK_BODY_TOO_LARGE')
    }
  })

  it('that is nested too deeply is refused before it is parsed', async () => {
    await using server = await serve()
    const raw = `{"payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const call = { raw, headers: { 'content-type': 'application/json' } }
    isProblem(await server.call('POST', '/api/v1/topics/work/messages', call), 400, 'TIDEMARK_NESTING')
    const payload = '[{"['.repeat(1_000)
    assert.equal((await server.post('/api/v1/topics/work/messages', { payload })).status, 201)
  })

  it('that is not JSON, or would change prototypes, is refused', async () => {
    await using server = await serve()
    for (const raw of [
      '{',
      'null',
      '[]',
      '"x"',
      '{"payload":1,"__proto__":{"x":1}}',
      '{"payload":{"constructor":{"prototype":{}}}}',
    ]) {
      const call = { raw, headers: { 'content-type': 'application/json' } }
      assert.equal((await server.call('POST', '/api/v1/topics/work/messages', call)).status, 400, raw)
    }
  })

  it('that claims to be a protobuf message is treated as plain JSON', async () => {
    await using server = await serve()
    const payload = { $typeName: 'google.protobuf.Any', typeUrl: 'x/y', value: { length: 1e9 } }
    assert.equal((await server.post('/api/v1/topics/work/messages', { payload })).status, 201)
    const [message] = (await server.get('/api/v1/topics/work/messages')).body.messages
    assert.deepEqual([message.type, message.payload], ['json', payload])
  })

  it('of a reading request is refused', async () => {
    await using server = await serve()
    const call = { raw: '{}', headers: { 'content-length': '2' } }
    isProblem(await server.call('GET', '/api/v1/topics', call), 400, 'TIDEMARK_BAD_REQUEST')
  })

  it('that comes too slowly is not waited for', async () => {
    await using server = await serve({ limits: { bodyTimeoutMs: 200 } })
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('data', chunk => {
      received += chunk
    })
    socket.on('error', () => undefined)
    socket.write('POST /api/v1/topics/work/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n')
    socket.write('content-length: 1000\r\n\r\n{"pay')
    await until(() => socket.closed, { what: 'the server to hang up' })
    assert.match(received, /^HTTP\/1\.1 408 /)
    assert.match(received, /TIDEMARK_BODY_TIMEOUT/)
  })
})

describe('requests that are not HTTP', () => {
  it('get an answer, and the connection is closed', async () => {
    await using server = await serve()
    const { hostname, port } = new URL(server.url)
    for (const [text, status] of [
      ['nonsense\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ] as const) {
      const socket = connect(Number(port), hostname)
      let received = ''
      socket.on('data', chunk => {
        received += chunk
      })
      socket.on('error', () => undefined)
      socket.write(text)
      await until(() => socket.closed, { what: 'the server to hang up' })
      assert.match(received, new RegExp(`^HTTP/1.1 ${status} .*application/problem\\+json`, 's'))
    }
  })
})

describe('names and paths', () => {
  const attacks = [
    "x'; drop table tidemark_topic; --",
    'x" or ""="',
    '../../etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    '..\\..\\x',
    'a/b',
    'x\0y',
    '%00',
    'ü',
    '<script>alert(1)</script>',
    'x'.repeat(129),
    '-x',
    '.',
    ' ',
  ]

  it('that are invalid are refused everywhere', async () => {
    await using server = await serve()
    await server.tm.publish('work', 1)
    for (const attack of attacks) {
      const name = encodeURIComponent(attack)
      for (const [method, path] of [
        ['GET', `/api/v1/topics/${name}`],
        ['PUT', `/api/v1/topics/${name}`],
        ['DELETE', `/api/v1/topics/${name}`],
        ['POST', `/api/v1/topics/${name}/messages`],
        ['GET', `/api/v1/topics/${name}/messages/tail`],
        ['POST', `/api/v1/topics/${name}/pull`],
        ['GET', `/api/v1/topics/work/groups/${name}`],
        ['POST', `/api/v1/topics/work/groups/${name}/pause`],
        ['GET', `/api/v1/topics/work/dead-letters?group=${name}`],
        ['GET', `/api/v1/topics?after=${name}`],
        ['GET', `/api/v1/topics/work/dead-letters/${name}`],
        ['GET', `/api/v1/runs/${name}`],
        ['GET', `/api/v1/runs/${name}/environment/1`],
        ['GET', `/api/v1/runs/20260101-00000000-00000000-0000-0000-0000-000000000000/environment/${name}`],
        ['GET', `/api/v1/runs/20260101-00000000-00000000-0000-0000-0000-000000000000/environment/1?region=${name}`],
        ['POST', `/api/v1/jobs/${name}/run`],
      ] as const) {
        const answer = await server.call(method, path, method === 'GET' || method === 'DELETE' ? {} : { body: {} })
        assert.ok([400, 404].includes(answer.status), `${method} ${path}: ${answer.text}`)
        assert.equal(answer.headers['content-type'], 'application/problem+json')
      }
    }
    assert.deepEqual(
      (await server.tm.admin.topics()).map(({ topic }) => topic),
      ['work'],
    )
  })

  it('may be any text for keys, ids and headers, and stay unchanged', async () => {
    await using server = await serve()
    for (const text of ["'; drop table x; --", '../..', '<b>', '"']) {
      const message = { payload: text, key: text, messageId: text, headers: { [text]: text } }
      assert.equal((await server.post('/api/v1/topics/work/messages', message)).status, 201)
      const found = await server.get(`/api/v1/topics/work/messages?key=${encodeURIComponent(text)}`)
      const [stored] = found.body.messages
      assert.deepEqual(
        [stored.key, stored.messageId, stored.headers, stored.payload],
        [text, text, { [text]: text }, text],
      )
    }
  })

  it('cannot leave the tree of routes', async () => {
    await using server = await serve()
    for (const path of [
      '/../../etc/passwd',
      '//etc/passwd',
      '/api/v1/../../etc/passwd',
      '/api/v1/%2e%2e/x',
      '/API/V1/topics',
      '/.git/config',
    ]) {
      assert.equal((await server.get(path)).status, 404, path)
    }
    isProblem(await server.get('/%zz'), 400, 'TIDEMARK_BAD_REQUEST')
    isProblem(await server.get(`/api/v1/topics/${'x'.repeat(5_000)}`), 400, 'TIDEMARK_BAD_REQUEST')
  })
})

describe('every answer', () => {
  it('keeps browsers from guessing, framing and following', async () => {
    await using server = await serve()
    for (const path of ['/api/v1/', '/api/v1/topics', '/nothing', '/metrics']) {
      const { headers } = await server.get(path)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/)
      assert.equal(headers['referrer-policy'], 'no-referrer')
    }
  })

  it('to an internal error reveals nothing else', async () => {
    const topics = {
      publish() {},
      metrics: () => ({ topics: {} }),
      admin: { topics: () => Promise.reject(new Error('secret')) },
    }
    const lines: object[] = []
    const logger = { ...SILENT, error: (fields: object) => lines.push(fields) }
    await using server = await startServer({ port: 0, topics: topics as never, logger })
    const answer = await fetch(`${server.url}/api/v1/topics`)
    const text = await answer.text()
    assert.equal(answer.status, 500)
    assert.ok(!text.includes('secret'))
    assert.equal(lines.length, 1)
  })
})
