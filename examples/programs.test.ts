/** The programs of this folder, run as a reader runs them. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { freshDatabase, temporaryFolder } from '../testing/databases.ts'
import { findFreePort } from '../testing/free-port.ts'
import { spawnScript } from '../testing/processes.ts'
import { until } from '../testing/until.ts'

const at = (path: string): URL => new URL(path, import.meta.url)
const json = { 'content-type': 'application/json' }

describe('the SQLite worker', () => {
  it('works off jobs, retries one, and stops when it is told to', async () => {
    using folder = temporaryFolder()
    const options = { cwd: folder.path }
    await using adding = spawnScript(at('sqlite-worker.ts'), ['add', '3'], options)
    assert.equal((await adding.exited).code, 0)
    await using worker = spawnScript(at('sqlite-worker.ts'), [], options)
    for (const line of ['customer-1@example.com, attempt 2', 'customer-2@example.com', 'customer-3@example.com']) {
      await worker.waitForLine(`sent mail to ${line}`)
    }
    process.kill(worker.pid, 'SIGINT')
    assert.equal((await worker.exited).code, 0)
    assert.equal(worker.lines.at(-1), 'stopped')
    assert.equal(worker.lines.filter(line => line.startsWith('sent')).length, 3)
  })
})

describe('the outbox with Drizzle', () => {
  it('tells about orders that were stored, and about no other', async () => {
    await using database = await freshDatabase()
    await using script = spawnScript(at('outbox-drizzle.ts'), [], { env: { DATABASE: database.url } })
    const { code } = await script.exited
    assert.equal(code, 0, script.errorLines.join('\n'))
    assert.deepEqual([...script.lines].sort(), [
      'billing: 12 for order 7',
      'billing: 5 for order 8',
      'order 7 is refused, and nobody is told about it',
    ])
  })
})

describe('the Fastify service', () => {
  it('publishes what it is sent once, and shuts down when it is told to', async () => {
    using folder = temporaryFolder()
    await using service = spawnScript(at('fastify-service.ts'), [], { cwd: folder.path, env: { PORT: '0' } })
    const [url] = (await service.waitForLine('listening at')).match(/http:\S+/) ?? []
    assert.ok(url)
    const post = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}/orders`, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
    for (const duplicate of [false, true]) {
      const answer = await post({ total: 12 }, { 'idempotency-key': 'order-7' })
      assert.deepEqual([answer.status, await answer.json()], [202, { id: 'order-7', duplicate }])
    }
    assert.equal((await post({})).status, 400)
    assert.equal((await fetch(`${url}/health`)).status, 200)
    await service.waitForLine('email: order order-7 for 12')
    process.kill(service.pid, 'SIGTERM')
    assert.equal((await service.exited).code, 0)
    assert.equal(service.lines.at(-1), 'stopped')
    assert.equal(service.lines.filter(line => line.startsWith('email')).length, 1)
  })
})

const hasPython = spawnSync('python3', ['--version']).status === 0

describe('the consumer in Python', { skip: hasPython ? false : 'python3 is not installed' }, () => {
  it('processes what is published, retries one, and stops when it is told to', async () => {
    using folder = temporaryFolder()
    const port = String(await findFreePort())
    await using server = spawnScript(at('http-server.ts'), [], { cwd: folder.path, env: { PORT: port } })
    const url = `http://127.0.0.1:${port}`
    await server.waitForLine(url)
    const send = async (method: string, path: string, body: object): Promise<void> => {
      const answer = await fetch(`${url}/api/v1/topics/${path}`, { method, headers: json, body: JSON.stringify(body) })
      assert.ok(answer.ok, await answer.text())
    }
    await send('PUT', 'orders', { semantics: 'pub-sub' })
    const messages = [12, -3].map((total, index) => ({ payload: { orderId: index + 1, total } }))
    await send('POST', 'orders/messages/batch', { messages })
    const python = spawn('python3', [at('python-consumer.py').pathname, url, 'orders', 'billing'])
    try {
      const lines = outputOf(python)
      await until(() => lines().includes('billing: order 2 for -3, attempt 2'), { what: 'the message that is retried' })
      assert.ok(lines().includes('billing: order 1 for 12, attempt 1'))
      python.kill('SIGTERM')
      const [code] = await once(python, 'exit')
      assert.equal(code, 0)
      assert.equal(lines().at(-1), 'stopped')
    } finally {
      python.kill('SIGKILL')
    }
  })
})

function outputOf(child: ChildProcess): () => string[] {
  let output = ''
  child.stdout?.on('data', chunk => {
    output += chunk
  })
  child.stderr?.pipe(process.stderr)
  return () => output.trim().split('\n')
}
