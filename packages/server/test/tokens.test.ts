import assert from 'node:assert/strict'
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { hashOf, isStrong, makeToken, parseGrants, startServer, tokenLine } from '@tidemark/server'
import { ConfigError } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { SILENT, serve } from './servers.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

function line(name: string, secret: string, roles: string[], expiresAt: number | null = null): string {
  return tokenLine({ name, hash: hashOf(secret), grants: parseGrants('roles', roles), expiresAt })
}

describe('a token file', () => {
  it('names tokens with roles and expiry, and has only their hashes', async () => {
    using folder = temporaryFolder()
    const tokenFile = join(folder.path, 'tokens.jsonl')
    const [reader, old] = [makeToken(), makeToken()]
    const lines = [
      '# who may look',
      '',
      line('reader', reader, ['read'], Date.now() + 60_000),
      line('old', old, ['admin'], Date.now() - 1),
    ]
    assert.ok(!lines.join('').includes(reader))
    writeFileSync(tokenFile, lines.join('\n'), { mode: 0o600 })
    await using server = await serve({ tokenFile })
    const { body } = await server.get('/api/v1/session', bearer(reader))
    assert.deepEqual([body.name, body.by, body.roles], ['reader', 'token', [{ role: 'read', topics: null }]])
    assert.equal((await server.get('/api/v1/topics', bearer(old))).status, 401)
    assert.equal((await server.get('/api/v1/topics', bearer(hashOf(reader).toString('hex')))).status, 401)
  })

  it('is read again when it changes: new ones are accepted, revoked ones are not, and their streams end', async () => {
    using folder = temporaryFolder()
    const tokenFile = join(folder.path, 'tokens.jsonl')
    const [first, second] = [makeToken(), makeToken()]
    writeFileSync(tokenFile, line('first', first, ['read']), { mode: 0o600 })
    await using server = await serve({ tokenFile })
    const stream = await fetch(`${server.url}/api/v1/events`, { headers: bearer(first) })
    let hasEnded = false
    void stream.text().then(ending, ending)
    function ending(): void {
      hasEnded = true
    }
    const next = join(folder.path, 'next')
    writeFileSync(next, line('second', second, ['read']), { mode: 0o600 })
    renameSync(next, tokenFile)
    const isIn = async (token: string) => (await server.get('/api/v1/topics', bearer(token))).status === 200
    await until(() => isIn(second), { what: 'the new token' })
    assert.equal(await isIn(first), false)
    await until(() => hasEnded, { what: 'the stream of the revoked token to end' })
  })

  it('that becomes unusable leaves the tokens as they were, and says so loudly', async () => {
    using folder = temporaryFolder()
    const tokenFile = join(folder.path, 'tokens.jsonl')
    const [token, operate] = [makeToken(), makeToken()]
    writeFileSync(tokenFile, line('reader', token, ['read']), { mode: 0o600 })
    const errors: string[] = []
    const logger = { ...SILENT, error: (_: object, text: string) => void errors.push(text) }
    await using server = await serve({ tokenFile, logger, tokens: { operate } })
    const spoil = [
      () => writeFileSync(tokenFile, ''),
      () => writeFileSync(tokenFile, '{"name":'),
      () => writeFileSync(tokenFile, line('operate', makeToken(), ['admin'])),
      () => writeFileSync(tokenFile, line('other', operate, ['admin'])),
      () => rmSync(tokenFile),
      () => {
        writeFileSync(tokenFile, line('other', makeToken(), ['admin']))
        chmodSync(tokenFile, 0o666)
      },
    ]
    for (const [index, act] of spoil.entries()) {
      act()
      await until(() => errors.length > index, { what: 'the error in the log' })
      assert.equal((await server.get('/api/v1/topics', bearer(token))).status, 200)
    }
  })

  it('is refused at the start if it is empty, invalid, or writable by others; no message shows its contents', async () => {
    using folder = temporaryFolder()
    const tokenFile = join(folder.path, 'tokens.jsonl')
    const secret = makeToken()
    const good = line('a', secret, ['read'])
    for (const text of [
      '',
      '# nothing\n',
      secret,
      `{"name":"a","hash":"${secret}","roles":["read"]}`,
      `{"name":"a","token":"${secret}","roles":["read"]}`,
      good.replace('"read"', '"root"'),
      good.replace('"read"', `"${secret}"`),
      good.replace('"read"', `"publish:${secret} "`),
      good.replace('}', `,"expires":"${secret}"}`),
      good.replace('["read"]', '[]'),
      good.replace('["read"]', '[null]'),
      good.replace('"read"', '"read:"'),
      good.replace('"read"', '"read:/x"'),
      good.replace('}', ',"expires":"tomorrow"}'),
      good.replace('}', ',"expires":"2027-02-01"}'),
      `${good}\n${line('a', makeToken(), ['read'])}`,
      `${good}\n${line('b', secret, ['admin'])}`,
    ]) {
      writeFileSync(tokenFile, text, { mode: 0o600 })
      await assert.rejects(startServer({ port: 0, tokenFile, logger: SILENT }), (error: Error) => {
        assert.ok(error instanceof ConfigError, String(error))
        assert.ok(!error.message.includes(secret), error.message)
        return true
      })
    }
    writeFileSync(tokenFile, good)
    chmodSync(tokenFile, 0o620)
    await assert.rejects(startServer({ port: 0, tokenFile, logger: SILENT }), /chmod go-w/)
    rmSync(tokenFile)
    await assert.rejects(startServer({ port: 0, tokenFile, logger: SILENT }), ConfigError)
    await assert.rejects(startServer({ port: 0, tokenFile: '', logger: SILENT }), ConfigError)
  })
})

describe('a token that a person has chosen', () => {
  it('is refused if it is empty or easy to guess', async () => {
    const weak = [
      '',
      'short',
      'a'.repeat(40),
      'abababababababab',
      'password12345678',
      'passwordpassword',
      '0123456789abcdefghij',
      'qwertzqwertzqwertz',
      'changeme-changeme',
      'ßßßßßßßßßßßßßßßßßß',
    ]
    for (const admin of weak) {
      assert.equal(isStrong(admin), false, admin)
      await assert.rejects(startServer({ port: 0, tokens: { admin }, logger: SILENT }), ConfigError)
    }
    await assert.rejects(startServer({ port: 0, tokens: {}, host: '0.0.0.0', logger: SILENT }), ConfigError)
    for (const token of [makeToken(), 'correct-horse-battery', '6f1d2c3b4a596877']) assert.ok(isStrong(token), token)
  })
})

describe("a host application's own login", () => {
  it('is asked at every request, and decides what its users may do', async () => {
    const asked: string[] = []
    await using server = await serve({
      authenticate: async ({ headers, method, url, address }) => {
        asked.push(`${method} ${url} ${address}`)
        await Promise.resolve()
        return headers['x-user'] === 'ann'
          ? { name: 'ann', roles: ['read', { role: 'publish', topics: ['a.'] }] }
          : null
      },
    })
    assert.equal((await server.get('/api/v1/topics')).status, 401)
    assert.equal((await server.get('/api/v1/topics', { 'x-user': 'ann' })).status, 200)
    assert.equal((await server.post('/api/v1/topics/a.b/messages', { payload: 1 }, { 'x-user': 'ann' })).status, 201)
    assert.equal((await server.post('/api/v1/topics/b/messages', { payload: 1 }, { 'x-user': 'ann' })).status, 403)
    const foreign = { 'x-user': 'ann', origin: 'https://evil.example' }
    assert.equal((await server.post('/api/v1/topics/a.b/messages', { payload: 1 }, foreign)).status, 403)
    assert.equal(asked[0], 'GET /api/v1/topics 127.0.0.1')
  })

  it('that fails lets nobody in, and its error stays in the log', async () => {
    const authenticate = () => Promise.reject(new Error('ldap://user:hunter2@host is away'))
    await using server = await serve({ authenticate })
    const { status, text } = await server.get('/api/v1/topics')
    assert.equal(status, 500)
    assert.ok(!text.includes('hunter2'))
    const wrong = () => ({ name: 'x', roles: ['root'] })
    await using other = await serve({ authenticate: wrong })
    assert.ok((await other.get('/api/v1/topics')).status >= 400)
  })

  it('works beside tokens', async () => {
    const admin = makeToken()
    await using server = await serve({ authenticate: () => null, tokens: { admin } })
    assert.equal((await server.get('/api/v1/topics', bearer(admin))).status, 200)
    assert.equal((await server.get('/api/v1/topics', bearer('x'.repeat(20)))).status, 401)
  })
})

describe('wrong tokens', () => {
  it('are counted by address, and then none is checked for a while', async () => {
    const admin = makeToken()
    await using server = await serve({ tokens: { admin }, limits: { wrongTokensPerMinute: 3 } })
    for (let attempt = 0; attempt < 3; attempt++) {
      assert.equal((await server.get('/api/v1/topics', bearer(makeToken()))).status, 401)
    }
    const blocked = await server.get('/api/v1/topics', bearer(admin))
    assert.deepEqual([blocked.status, blocked.body.code], [429, 'TIDEMARK_RATE_LIMIT'])
    assert.ok(Number(blocked.headers['retry-after']) > 0)
    assert.equal((await server.post('/api/v1/session', { token: admin })).status, 429)
  })

  it('do not lock out callers from there that were accepted before', async () => {
    const admin = makeToken()
    await using server = await serve({ tokens: { admin }, limits: { wrongTokensPerMinute: 3 } })
    assert.equal((await server.get('/api/v1/topics', bearer(admin))).status, 200)
    for (let attempt = 0; attempt < 5; attempt++) await server.get('/api/v1/topics', bearer(makeToken()))
    assert.equal((await server.get('/api/v1/topics', bearer(makeToken()))).status, 429)
    assert.equal((await server.get('/api/v1/topics', bearer(admin))).status, 200)
  })
})
