import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type AuditEntry, makeToken } from '@tidemark/server'
import { temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
// Inside: a limit of a few hundred bytes, which the options don’t allow.
import { AuditFile, readAuditFile } from '../src/audit/audit-file.ts'
import { exchange, SILENT, serve, type TestServer } from './servers.ts'

const admin = makeToken()
const read = makeToken()
const tokens = { admin, read }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const auditOf = async (server: TestServer, query = ''): Promise<AuditEntry[]> =>
  (await server.get(`/api/v1/audit${query}`, bearer(admin))).body.entries

const linesOf = (file: string): AuditEntry[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))

describe('the audit', () => {
  it('has every change: who, what, from where, and how it ended', async () => {
    await using server = await serve({ tokens })
    const headers = bearer(admin)
    await server.call('PUT', '/api/v1/topics/work?token=x', { body: { maxAttempts: 3 }, headers })
    await server.call('PUT', '/api/v1/topics/work', { body: { maxAttempts: 3 }, headers })
    await server.post('/api/v1/topics/work/groups/none/pause', {}, headers)
    const [failed, done, first] = await auditOf(server, '?kind=change')
    assert.deepEqual(
      [done?.who, done?.by, done?.from, done?.action, done?.topic, done?.status, done?.outcome, done?.input],
      ['admin', 'token', '127.0.0.1', 'configureTopic', 'work', 200, 'done', { maxAttempts: 3 }],
    )
    assert.deepEqual(
      [failed?.action, failed?.outcome, failed?.code],
      ['pauseGroup', 'failed', 'TIDEMARK_GROUP_NOT_FOUND'],
    )
    assert.deepEqual([first?.status, first?.path], [200, '/api/v1/topics/work'])
  })

  it('has every refusal, including unknown callers and requests that are not HTTP', async () => {
    await using server = await serve({ tokens })
    await server.get('/api/v1/topics')
    await server.get('/api/v1/topics', bearer('wrong-wrong-wrong'))
    await server.call('DELETE', '/api/v1/topics/work', { headers: bearer(read) })
    await server.get('/api/v1/topics', { host: 'evil.example' })
    await server.get('/%zz')
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.resume()
    socket.end('nonsense\r\n\r\n')
    await until(() => socket.closed, { what: 'the server to hang up' })
    const entries = await auditOf(server, '?kind=refusal')
    assert.deepEqual(entries.map(({ who, action, status, code }) => [who, action, status, code]).reverse(), [
      [null, 'listTopics', 401, 'TIDEMARK_UNAUTHORIZED'],
      [null, 'listTopics', 401, 'TIDEMARK_UNAUTHORIZED'],
      ['read', 'deleteTopic', 403, 'TIDEMARK_FORBIDDEN'],
      [null, 'listTopics', 403, 'TIDEMARK_HOST_NOT_ALLOWED'],
      [null, null, 401, 'TIDEMARK_UNAUTHORIZED'],
      [null, null, 400, 'TIDEMARK_BAD_REQUEST'],
    ])
    assert.ok(entries.every(({ outcome, from }) => outcome === 'refused' && from === '127.0.0.1'))
  })

  it('has requests that reach no route, and no password of an address', async () => {
    await using server = await serve({ tokens: { admin } })
    const { host } = new URL(server.url)
    const answers = [
      await exchange(server.url, `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
      await exchange(server.url, `GET / HTTP/1.1\r\nHost: ${host}\r\nExpect: tea\r\n\r\n`),
      await exchange(
        server.url,
        `GET http://me:geheim@${host}/x HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      ),
    ]
    assert.deepEqual(
      answers.map(answer => answer.slice(9, 12)),
      ['405', '417', '400'],
    )
    for (const answer of answers) assert.match(answer, /x-content-type-options: nosniff/i)
    const { body } = await server.get('/api/v1/audit?kind=refusal', { authorization: `Bearer ${admin}` })
    assert.deepEqual(
      body.entries.map(({ status }: { status: number }) => status),
      [400, 417, 405],
    )
    assert.ok(!JSON.stringify(body).includes('geheim'))
  })

  it('has publishing and consuming as a separate kind, and logins, but no reads, payloads or tokens', async () => {
    await using server = await serve({ tokens })
    const headers = bearer(admin)
    await server.post('/api/v1/topics/work/messages', { payload: 'top-secret', key: 'top-secret' }, headers)
    const { receipt } = (await server.post('/api/v1/topics/work/pull', {}, headers)).body
    await server.post('/api/v1/settle', { receipt, acks: 'all' }, headers)
    await server.post('/api/v1/session', { token: admin })
    await server.post('/api/v1/session', { token: read.slice(0, -1) })
    await server.get(`/api/v1/topics?token=${admin}`, headers)
    const entries = await auditOf(server)
    assert.deepEqual(
      entries.map(({ kind, action, who, topic }) => [kind, action, who, topic]),
      [
        ['refusal', 'login', null, null],
        ['change', 'login', 'admin', null],
        ['data', 'settle', 'admin', 'work'],
        ['data', 'pull', 'admin', 'work'],
        ['data', 'publish', 'admin', 'work'],
      ],
    )
    const text = JSON.stringify(entries)
    assert.ok(![admin, read.slice(0, -1), receipt, 'top-secret'].some(secret => text.includes(secret)))
  })

  it('is read page by page and filtered, by administrators', async () => {
    await using server = await serve({ tokens })
    for (const topic of ['a', 'b', 'c']) {
      await server.call('PUT', `/api/v1/topics/${topic}`, { body: {}, headers: bearer(admin) })
    }
    const first = await server.get('/api/v1/audit?limit=2', bearer(admin))
    assert.deepEqual(
      first.body.entries.map(({ topic }: AuditEntry) => topic),
      ['c', 'b'],
    )
    const second = await auditOf(server, `?limit=2&before=${first.body.next}`)
    assert.deepEqual(
      second.map(({ topic }) => topic),
      ['a'],
    )
    assert.deepEqual(
      (await auditOf(server, '?topic=b')).map(({ topic }) => topic),
      ['b'],
    )
    assert.deepEqual(await auditOf(server, '?who=nobody'), [])
    assert.deepEqual(await auditOf(server, '?since=2999-01-01'), [])
    assert.equal((await server.get('/api/v1/audit', bearer(read))).status, 403)
  })

  it('is a file of one JSON line each, private to its user, and known after a restart', async () => {
    using folder = temporaryFolder()
    const auditFile = join(folder.path, 'audit.jsonl')
    {
      await using server = await serve({ tokens, auditFile })
      await server.call('PUT', '/api/v1/topics/a', { body: {}, headers: bearer(admin) })
      await server.get('/api/v1/topics')
    }
    assert.deepEqual(
      linesOf(auditFile).map(({ id, kind }) => [id, kind]),
      [
        [1, 'change'],
        [2, 'refusal'],
      ],
    )
    assert.equal(statSync(auditFile).mode & 0o777, 0o600)
    writeFileSync(auditFile, '{"id":3,"at', { flag: 'a' })
    writeFileSync(auditFile, '\n', { flag: 'a' })
    await using server = await serve({ tokens, auditFile })
    await server.call('PUT', '/api/v1/topics/b', { body: {}, headers: bearer(admin) })
    assert.deepEqual(
      (await auditOf(server)).map(({ id, topic }) => [id, topic]),
      [
        [3, 'b'],
        [2, null],
        [1, 'a'],
      ],
    )
  })

  it('sums up repeated refusals, and they push out no change', async () => {
    using folder = temporaryFolder()
    const auditFile = join(folder.path, 'audit.jsonl')
    {
      await using server = await serve({ tokens, auditFile })
      await server.call('PUT', '/api/v1/topics/a', { body: {}, headers: bearer(admin) })
      for (let count = 0; count < 50; count++) await server.get('/api/v1/topics')
    }
    const lines = linesOf(auditFile)
    const refusals = lines.filter(({ kind }) => kind === 'refusal')
    assert.ok(refusals.length < 30)
    assert.equal(
      refusals.reduce((sum, { count }) => sum + count, 0),
      50,
    )
    assert.equal(lines.filter(({ kind }) => kind === 'change').length, 1)
  })

  it('rotates a full file and keeps a few of them', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'audit.jsonl')
    const file = new AuditFile(path, 300, SILENT)
    const entry = { kind: 'change', at: new Date().toISOString(), outcome: 'done', who: 'x'.repeat(200) } as AuditEntry
    for (let id = 1; id <= 20; id++) {
      file.write({ ...entry, id })
      await file.flush()
    }
    const kept = [path, ...[1, 2, 3, 4].map(number => `${path}.${number}`)]
    assert.deepEqual(
      kept.flatMap(each => readAuditFile(each).map(({ id }) => id)),
      [19, 20, 17, 18, 15, 16, 13, 14, 11, 12],
    )
    assert.throws(() => readAuditFile(`${path}.5`), /ENOENT/)
  })

  it('eventually has what could not be written before, or says how many lines are lost', async () => {
    using folder = temporaryFolder()
    const place = join(folder.path, 'audit')
    mkdirSync(place)
    const errors: object[] = []
    const logger = { ...SILENT, error: (fields: object) => void errors.push(fields) }
    const file = new AuditFile(join(place, 'audit.jsonl'), 10_000, logger)
    const entry = { kind: 'change', at: new Date().toISOString(), outcome: 'done' } as AuditEntry
    rmSync(place, { recursive: true })
    file.write({ ...entry, id: 1 })
    await until(() => errors.length === 1, { what: 'the error' })
    mkdirSync(place)
    await file.flush()
    assert.deepEqual(
      readAuditFile(join(place, 'audit.jsonl')).map(({ id }) => id),
      [1],
    )
    rmSync(place, { recursive: true })
    file.write({ ...entry, id: 2 })
    await file.flush()
    assert.equal((errors.at(-1) as { lines?: number }).lines, 1)
  })

  it('goes to the log as well, a change and a refusal as one line', async () => {
    const lines: object[] = []
    const logger = { ...SILENT, info: (fields: object) => void lines.push(fields) }
    await using server = await serve({ tokens, logger })
    await server.call('PUT', '/api/v1/topics/a', { body: {}, headers: bearer(admin) })
    await server.get('/api/v1/topics')
    const kinds = () => lines.flatMap(line => ('audit' in line ? [line.audit] : []))
    await until(() => kinds().length === 2, { what: 'both lines' })
    assert.deepEqual(kinds(), ['change', 'refusal'])
  })
})
