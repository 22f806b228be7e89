import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import { makeToken, startServer } from '@tidemark/server'
import { ConfigError } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
// Inside: addresses that no connection of this machine has.
import { networkOf } from '../src/security/addresses.ts'
// Inside: its clock can only be given here.
import { RequestRate } from '../src/security/limiters.ts'
// Inside: files that change while the server is starting, a moment that nobody can hit from outside.
import { markOf, readTls, watchTls } from '../src/security/tls.ts'
import { exchange, SILENT, serve, type TestServer } from './servers.ts'

const admin = makeToken()
const tokens = { admin }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const raw = (server: TestServer, text: string): Promise<string> => exchange(server.url, text)

describe('a server without tokens', () => {
  it('refuses requests through a proxy, which would make strangers local', async () => {
    await using server = await serve()
    for (const name of [
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-Forwarded-Proto',
      'X-Forwarded',
      'Forwarded',
      'Via',
      'X-Real-IP',
      'CF-Connecting-IP',
      'True-Client-IP',
      'X-Client-IP',
      'X-Original-URL',
      'X_Forwarded_For',
      'Forwarded-For',
      'X-Forward-For',
      'X-Remote-IP',
      'X-Originating-IP',
      'X-Azure-ClientIP',
      'X-Envoy-Internal',
      'Proxy-Client-IP',
      'CF-Ray',
      'CDN-Loop',
    ]) {
      const { status, body } = await server.get('/api/v1/topics', { [name]: '127.0.0.1' })
      assert.deepEqual([status, body.code], [403, 'TIDEMARK_FORWARDED'], name)
    }
    assert.equal((await server.get('/api/v1/topics', { 'x-forward': '1' })).status, 200)
  })

  it('refuses them from a trusted proxy too, and accepts them with tokens', async () => {
    await using open = await serve({ trustedProxies: ['127.0.0.1'] })
    assert.equal((await open.get('/api/v1/topics', { via: '1.1 proxy' })).status, 403)
    await using server = await serve({ tokens })
    assert.equal((await server.get('/api/v1/topics', { via: '1.1 proxy', ...bearer(admin) })).status, 200)
  })
})

describe('trusted proxies', () => {
  const addressOf = async (server: TestServer, forwarded?: string): Promise<string> => {
    await server.get('/api/v1/none', forwarded === undefined ? {} : { 'x-forwarded-for': forwarded })
    const { body } = await server.get('/api/v1/audit?limit=1', bearer(admin))
    return body.entries[0].from
  }

  it('determine where a request comes from; nobody else does', async () => {
    await using direct = await serve({ tokens })
    assert.equal(await addressOf(direct, '203.0.113.7'), '127.0.0.1')
    await using server = await serve({ tokens, trustedProxies: ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8'] })
    for (const [forwarded, address] of [
      [undefined, '127.0.0.1'],
      ['203.0.113.7', '203.0.113.7'],
      ['6.6.6.6, 203.0.113.7', '203.0.113.7'],
      ['203.0.113.7, 10.1.1.1', '203.0.113.7'],
      ['203.0.113.7:4711, 10.1.1.1:80', '203.0.113.7'],
      ['[2001:db8::7]:80, fd00::1', '2001:db8::7'],
      ['::ffff:203.0.113.7', '203.0.113.7'],
      ['203.0.113.7, nonsense', '127.0.0.1'],
      ['', '127.0.0.1'],
    ] as const) {
      assert.equal(await addressOf(server, forwarded), address, forwarded)
    }
  })

  it('are addresses and networks', async () => {
    for (const wrong of ['x', '10.0.0.0/33', '10.0.0', '::1/129', 'localhost']) {
      await assert.rejects(startServer({ port: 0, trustedProxies: [wrong], logger: SILENT }), ConfigError)
    }
  })
})

describe('limits for each token and address', () => {
  it('apply to requests per second', async () => {
    await using server = await serve({ limits: { requestsPerSecond: 1 } })
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) statuses.push((await server.get('/api/v1/session')).status)
    assert.deepEqual(statuses.slice(0, 2), [200, 200])
    assert.ok(statuses.includes(429), String(statuses))
  })

  it('recover with time, and are per client', () => {
    const rate = new RequestRate(2)
    for (let count = 0; count < 4; count++) rate.take('a', 0)
    assert.throws(() => rate.take('a', 100), { code: 'TIDEMARK_RATE_LIMIT' })
    rate.take('b', 100)
    rate.take('a', 600)
    assert.throws(() => rate.take('a', 700), { code: 'TIDEMARK_RATE_LIMIT' })
  })

  it('apply to concurrent requests of any caller', async () => {
    await using server = await serve({ tokens, limits: { requestsAtOnce: 1 } })
    await server.tm.configureTopic('work')
    const headers = { ...bearer(admin), 'content-type': 'application/json' }
    const ended = new AbortController()
    const body = '{"waitMs":60000}'
    const pull = { method: 'POST', headers, body, signal: ended.signal }
    const waiting = fetch(`${server.url}/api/v1/topics/work/pull`, pull).catch(() => undefined)
    await until(() => server.tm.metrics().totals.claims > 0, { what: 'the pull to wait' })
    const { status, body: problem } = await server.get('/api/v1/topics', bearer(admin))
    assert.deepEqual([status, problem.code], [429, 'TIDEMARK_RATE_LIMIT'])
    ended.abort()
    await waiting
    await until(async () => (await server.get('/api/v1/topics', bearer(admin))).status === 200, { what: 'the place' })
  })

  it('treat an IPv6 network as one client', () => {
    assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2::9'))
    assert.notEqual(networkOf('2001:db8:1:2::9'), networkOf('2001:db8:1:3::9'))
    assert.equal(networkOf('2001:0db8::1'), networkOf('2001:db8:0:0:1::'))
    assert.equal(networkOf('203.0.113.7'), '203.0.113.7')
  })
})

describe('the request line and the headers', () => {
  const get = (target: string, ...headers: string[]) =>
    `GET ${target} HTTP/1.1\r\n${headers.map(each => `${each}\r\n`).join('')}connection: close\r\n\r\n`

  it('name one host, and that of this server', async () => {
    await using server = await serve()
    const { host } = new URL(server.url)
    for (const [text, status] of [
      [get('/api/v1/topics', `host: ${host}`), 200],
      [get(`http://${host}/api/v1/topics`, `host: ${host}`), 200],
      [get('/api/v1/topics', `host: ${host}`, `host: ${host}`), 400],
      [get('/api/v1/topics', `host: ${host}`, 'host: evil.example'), 400],
      [get('http://evil.example/api/v1/topics', `host: ${host}`), 400],
      [get(`http://x@${host}/api/v1/topics`, `host: ${host}`), 400],
      [get('http://evil.example/api/v1/topics', 'host: evil.example'), 403],
      [get('HTTP://EVIL.example', `host: ${host}`), 400],
      [get('/api/v1/topics'), 403],
      [get('api/v1/topics', `host: ${host}`), 400],
      [get('ftp://x/api/v1/topics', `host: ${host}`), 400],
    ] as const) {
      assert.match(await raw(server, text), new RegExp(`^HTTP/1.1 ${status} `), text)
    }
  })

  it('name the token once', async () => {
    await using server = await serve({ tokens })
    const { host } = new URL(server.url)
    const twice = get('/api/v1/topics', `host: ${host}`, 'authorization: Bearer x', `authorization: Bearer ${admin}`)
    assert.match(await raw(server, twice), /^HTTP\/1.1 400 /)
  })

  it('cannot smuggle a second request', async () => {
    await using server = await serve()
    const { host } = new URL(server.url)
    const head = `POST /api/v1/topics/work/messages HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`
    const inner = `DELETE /api/v1/topics/x HTTP/1.1\r\nhost: ${host}\r\n\r\n`
    for (const headers of [
      `content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
      `content-length: 5\r\ncontent-length: 6\r\n\r\n${inner}`,
      `transfer-encoding: xchunked\r\n\r\n${inner}`,
      `content-length: +5\r\n\r\n${inner}`,
    ]) {
      const received = await raw(server, head + headers)
      assert.match(received, /^HTTP\/1.1 400 /)
      assert.equal(received.match(/HTTP\/1\.1/g)?.length, 1, received)
    }
  })
})

describe('security headers', () => {
  it('are on every answer, including those of the framework', async () => {
    await using server = await serve({ tokens, limits: { bodyTimeoutMs: 100 } })
    const { host } = new URL(server.url)
    const post = `POST /api/v1/topics/a/messages HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${admin}\r\ncontent-type: application/json\r\n`
    for (const [text, status] of [
      ['nonsense\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nhost: ${host}\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      [`GET /%zz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 401],
      ['GET / HTTP/1.1\r\nconnection: close\r\n\r\n', 403],
      [`GET /x HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${admin}\r\nconnection: close\r\n\r\n`, 404],
      [`GET / HTTP/1.1\r\nhost: ${host}\r\nexpect: x\r\n\r\n`, 417],
      [`${post}content-length: 10\r\n\r\n{`, 408],
      [`GET /metrics HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${admin}\r\nconnection: close\r\n\r\n`, 200],
    ] as const) {
      const received = await raw(server, text)
      assert.match(received, new RegExp(`^HTTP/1.1 ${status} `), text)
      for (const name of ['x-content-type-options: nosniff', 'content-security-policy:', 'x-frame-options: DENY']) {
        assert.ok(received.toLowerCase().includes(name.toLowerCase()), `${status} has no ${name}: ${received}`)
      }
    }
  })
})

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'needs the command openssl'

/** The name in it. */
const certificateOf = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = tlsConnect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.once('error', reject)
  })

describe('TLS', { skip }, () => {
  /** A certificate of one's own. */
  function certificate(folder: string, name: string): { cert: string; key: string } {
    const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
    const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    execFileSync(
      'openssl',
      ['req', '-x509', '-nodes', '-days', '2', ...curve, ...subject, '-keyout', files.key, '-out', files.cert],
      { stdio: 'ignore' },
    )
    return files
  }

  it('comes from files; tokens and cookies travel in it', async () => {
    using folder = temporaryFolder()
    const tls = certificate(folder.path, 'one')
    await using server = await serve({ tls, tokens })
    assert.match(server.url, /^https:/)
    const { hostname, port } = new URL(server.url)
    const answer = await new Promise<{ status: number; cookie: string; peer: string }>((resolve, reject) => {
      const agent = new Agent({ rejectUnauthorized: false, keepAlive: false })
      const headers = { 'content-type': 'application/json' }
      const asked = request({ hostname, port, method: 'POST', path: '/api/v1/session', headers, agent }, response => {
        const peer = (response.socket as import('node:tls').TLSSocket).getPeerCertificate().subject.CN
        response.resume()
        resolve({
          status: response.statusCode ?? 0,
          cookie: String(response.headers['set-cookie']),
          peer: String(peer),
        })
      })
      asked.on('error', reject)
      asked.end(JSON.stringify({ token: admin }))
    })
    assert.deepEqual([answer.status, answer.peer], [200, 'one'])
    assert.match(answer.cookie, /^__Host-tidemark_\d+=.*Secure$/)
  })

  it('uses a new certificate without a restart, and keeps the old one if the new one is invalid', async () => {
    using folder = temporaryFolder()
    const [one, two] = [certificate(folder.path, 'one'), certificate(folder.path, 'two')]
    const errors: string[] = []
    const logger = { ...SILENT, error: (_: object, text: string) => void errors.push(text) }
    await using server = await serve({ tls: one, tokens, logger })
    const nameOf = () => certificateOf(Number(new URL(server.url).port))
    assert.equal(await nameOf(), 'one')
    copyFileSync(two.cert, one.cert)
    await until(() => errors.length > 0, { what: 'the pair that does not match to be told' })
    assert.equal(await nameOf(), 'one')
    copyFileSync(two.key, one.key)
    await until(async () => (await nameOf()) === 'two', { what: 'the new certificate' })
  })

  it('uses a certificate that changed while the server was starting', async () => {
    using folder = temporaryFolder()
    const [one, two] = [certificate(folder.path, 'one'), certificate(folder.path, 'two')]
    const mark = await markOf(one)
    await using server = createServer(readTls(one)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    copyFileSync(two.cert, one.cert)
    copyFileSync(two.key, one.key)
    using watching = new DisposableStack()
    watching.defer(watchTls(server, one, mark, SILENT))
    const { port } = server.address() as AddressInfo
    await until(async () => (await certificateOf(port)) === 'two', { what: 'the new certificate' })
  })

  it('is refused at the start if the files are missing, wrong, or of different pairs', async () => {
    using folder = temporaryFolder()
    const [one, two] = [certificate(folder.path, 'one'), certificate(folder.path, 'two')]
    const junk = join(folder.path, 'junk')
    writeFileSync(junk, 'junk')
    for (const tls of [
      { cert: one.cert, key: two.key },
      { cert: junk, key: one.key },
      { cert: '/none', key: one.key },
    ]) {
      await assert.rejects(startServer({ port: 0, tls, logger: SILENT }), ConfigError)
    }
    await assert.rejects(startServer({ port: 0, tls: { cert: one.cert } as never, logger: SILENT }), ConfigError)
  })

  it('logs one warning if tokens are sent unencrypted', async () => {
    const warnings: string[] = []
    const logger = { ...SILENT, warn: (_: object, text: string) => void warnings.push(text) }
    {
      await using _ = await serve({ tokens, logger })
    }
    assert.deepEqual(warnings, [])
    await using _ = await serve({ tokens, logger, host: '0.0.0.0' })
    assert.deepEqual([warnings.length, /in the clear/.test(warnings[0] ?? '')], [1, true])
  })
})
