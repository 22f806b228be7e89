import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startServer } from '@tidemark/server'
import { open } from 'tidemark'
import { migratedDatabase, temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { SILENT, send, serve } from './servers.ts'

const PULL = '/api/v1/topics/work/pull'

describe('pull over HTTP', () => {
  it('claims, settles and extends', async () => {
    await using server = await serve()
    await server.tm.publishBatch('work', ['a', 'b'])
    const { status, body } = await server.post(PULL, { max: 10, consumer: 'shell', lease: '1m' })
    assert.deepEqual([status, body.leaseMs, body.messages.length], [200, 60_000, 2])
    assert.deepEqual([body.messages[0].payload, body.messages[0].version], ['a', 1])
    const { receipt } = body
    assert.deepEqual((await server.post('/api/v1/extend', { receipt, lease: '2m' })).body, { leaseMs: 120_000 })
    assert.equal((await server.post('/api/v1/settle', { receipt, acks: 'all' })).status, 204)
    assert.equal((await server.post('/api/v1/settle', { receipt, acks: 'all' })).status, 204)
    assert.deepEqual((await server.post(PULL)).body, { receipt: null, leaseMs: 300_000, messages: [] })
  })

  it('waits for a message', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work')
    const waiting = server.post(PULL, { waitMs: 60_000 })
    await until(() => server.tm.metrics().totals.claims > 0, { what: 'the pull to wait' })
    await server.tm.publish('work', 'late')
    assert.equal((await waiting).body.messages[0].payload, 'late')
  })

  it('releases what was claimed for a client that is gone', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work')
    const ended = new AbortController()
    const gone = fetch(server.url + PULL, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"waitMs":60000}',
      signal: ended.signal,
    })
    await until(() => server.tm.metrics().totals.claims > 0, { what: 'the pull to wait' })
    ended.abort()
    await assert.rejects(gone)
    await until(async () => (await server.get('/metrics')).text.includes('tidemark_http_open{kind="pulls"} 0'), {
      what: 'the place to be free',
    })
    await server.tm.publish('work', 1)
    assert.equal((await server.post(PULL)).body.messages[0].version, 1)
  })

  it('limits waiting pulls, and ends them when it closes', async () => {
    await using server = await serve({ limits: { pulls: 1 } })
    await server.tm.configureTopic('work')
    const waiting = server.post(PULL, { waitMs: 60_000 })
    await until(() => server.tm.metrics().totals.claims > 0, { what: 'the pull to wait' })
    const refused = await server.post(PULL)
    assert.deepEqual(
      [refused.status, refused.body.code, refused.headers['retry-after']],
      [503, 'TIDEMARK_TOO_MANY', '1'],
    )
    const [answer] = await Promise.all([waiting, server.server.close()])
    assert.deepEqual([answer.status, answer.body.receipt], [200, null])
  })

  it('answers 409 to a receipt that is stale, and 400 to an invalid one', async () => {
    await using server = await serve()
    await server.tm.publish('work', 1)
    const { receipt } = (await server.post(PULL, { lease: 1 })).body
    const again = (await server.post(PULL, { waitMs: 20_000 })).body
    assert.equal(again.messages[0].version, 2)
    for (const [path, body] of [
      ['/api/v1/settle', { receipt, acks: 'all' }],
      ['/api/v1/extend', { receipt }],
    ] as const) {
      const stale = await server.post(path, body)
      assert.deepEqual([stale.status, stale.body.code], [409, 'TIDEMARK_STALE_DELIVERY'])
    }
    for (const wrong of ['x', `${receipt}x`, '']) {
      assert.equal((await server.post('/api/v1/settle', { receipt: wrong, acks: 'all' })).status, 400)
    }
    const other = await server.post('/api/v1/settle', { receipt: again.receipt, acks: [999] })
    assert.deepEqual([other.status, other.body.code], [400, 'TIDEMARK_CONFIG'])
    assert.equal((await server.post('/api/v1/settle', { receipt: again.receipt, acks: 'all' })).status, 204)
  })

  for (const engine of ['SQLite', 'PostgreSQL'] as const) {
    it(`is settled at another server after the claiming one is gone: ${engine}`, async () => {
      await using place = engine === 'SQLite' ? sqliteFile() : await migratedDatabase()
      const { receipt } = await claimAndGo(place.url)
      await using tm = await open(place.url, { logger: SILENT })
      await using server = await startServer({ port: 0, topics: tm, logger: SILENT })
      assert.equal((await send(server.url, 'POST', '/api/v1/settle', { body: { receipt, acks: 'all' } })).status, 204)
      assert.equal((await tm.admin.groups('work'))[0]?.inFlight, 0)
    })
  }
})

describe('a client of another language', () => {
  it('is killed between claim and settle, and the message comes back with the next version', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work', { lease: '2s' })
    await server.tm.publish('work', { job: 1 })
    const first = client(server.url, 'hang')
    const claimed = await first.line(/^claimed /)
    assert.equal(claimed, 'claimed version 1 payload {"job":1}')
    process.kill(first.pid, 'SIGKILL')
    await first.exited
    const second = client(server.url, 'settle')
    assert.equal(await second.line(/^claimed /), 'claimed version 2 payload {"job":1}')
    assert.equal(await second.line(/^settled /), 'settled 204')
    assert.equal(await second.exited, 0)
    const [group] = await server.tm.admin.groups('work')
    assert.deepEqual([group?.inFlight, group?.retries, group?.lagMessages], [0, 0, 0])
  })
})

/** The script in a process group of its own ends with it: curl too. */
function client(url: string, mode: 'hang' | 'settle') {
  const script = join(import.meta.dirname, 'scripts', 'client.sh')
  const child = spawn('bash', [script, url, 'work', mode], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return {
    pid: child.pid ?? 0,
    exited,
    line: (pattern: RegExp) =>
      until(
        () =>
          output
            .split('\n')
            .slice(0, -1)
            .find(line => pattern.test(line)),
        {
          what: `the client to say ${pattern}`,
          timeout: 60_000,
        },
      ),
  }
}

async function claimAndGo(url: string): Promise<{ receipt: string }> {
  await using tm = await open(url, { logger: SILENT })
  await tm.publish('work', 1)
  await using server = await startServer({ port: 0, topics: tm, logger: SILENT })
  return (await send(server.url, 'POST', PULL, { body: {} })).body
}

function sqliteFile(): AsyncDisposable & { url: string } {
  const folder = temporaryFolder()
  return { url: `sqlite:${join(folder.path, 'app.db')}`, [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() }
}
