/** What pulls may hold in memory together, and what becomes of messages whose client did not get them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { holdWriteLock } from '../../../testing/write-lock.ts'
import { SILENT, serve, type TestServer } from './servers.ts'

const MIB = 1024 ** 2
const PULL = '/api/v1/topics/work/pull'

describe('pulls at the same time', () => {
  it('reserve memory before they claim; without memory they claim nothing and are told to retry', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'app.db')
    const topics = await open(`sqlite:${file}`, { logger: SILENT, maintenance: false })
    const errors: unknown[] = []
    const logger = { ...SILENT, error: (...line: unknown[]) => void errors.push(line) }
    await using server = await serve({ topics, logger, limits: { unsentBytes: 2 * MIB } })
    await topics.publishBatch('work', [1, 2, 3, 4, 5])
    assert.equal((await server.post(PULL, { max: 1 })).body.messages.length, 1)
    const lock = holdWriteLock(file)
    // Each is granted half of what is left: 1 MiB, 512 KiB, 256 KiB, and then there is less than an eighth.
    const claiming = Array.from({ length: 3 }, () => server.post(PULL, { max: 1 }))
    await until(async () => (await server.get('/metrics')).text.includes('tidemark_http_open{kind="pulls"} 3'), {
      what: 'three pulls to wait for the lock',
    })
    const refused = await server.post(PULL, { max: 1 })
    assert.equal(refused.status, 503)
    assert.deepEqual([refused.body.code, refused.headers['retry-after']], ['TIDEMARK_UNSENT_ANSWERS', '1'])
    lock[Symbol.dispose]()
    for (const { status, body } of await Promise.all(claiming))
      assert.deepEqual([status, body.messages.length], [200, 1])
    const rest = await server.post(PULL, { max: 10 })
    assert.equal(rest.body.messages.length, 1)
    assert.deepEqual(errors, [], 'a limit that is reached is no error of the server')
  })

  it('all receive what they asked for if they read it, each message once', async () => {
    await using server = await serveWork(16, { unsentBytes: 8 * MIB })
    const ids = new Set<number>()
    let handed = 0
    while (handed < 16) {
      const answers = await Promise.all(Array.from({ length: 12 }, () => server.post(PULL, { max: 2 })))
      for (const { status, text, body } of answers) {
        assert.equal(status, 200, text.slice(0, 300))
        for (const { id, attempt } of body.messages) {
          assert.equal(attempt, 1)
          ids.add(id)
          handed++
        }
      }
    }
    assert.equal(ids.size, 16)
  })

  it('are not kept from consuming by readers that read nothing', async () => {
    await using server = await serveWork(16, { unsentBytes: 40 * MIB })
    const path = '/api/v1/topics/work/messages'
    const readers = Array.from({ length: 8 }, () => sendWithoutReading(server, `GET ${path} HTTP/1.1\r\n`))
    await until(async () => (await server.get(path)).status === 503, { what: 'a refusal' })
    const pulled = await server.post(PULL, { max: 1 })
    assert.deepEqual([pulled.status, pulled.body.messages?.length], [200, 1])
    for (const socket of readers) socket.destroy()
  })
})

describe('a client that disconnects before it has its messages', () => {
  it('while they are sent leaves none of them claimed either', async () => {
    await using server = await serveWork(16)
    const socket = pullWithoutReading(server)
    const begun = once(socket, 'data')
    socket.resume()
    await begun
    socket.destroy()
    const { body } = await server.post(PULL, { max: 100, waitMs: 20_000 })
    assert.equal(body.messages.length, 16)
    assert.ok(body.messages.every(({ attempt }: { attempt: number }) => attempt === 1))
  })

  it('leaves none of them claimed, and costs them no attempt', async () => {
    await using server = await serveWork(16)
    const socket = pullWithoutReading(server)
    await until(async () => (await server.tm.admin.groups('work'))[0]?.inFlight === 16, { what: 'the claim' })
    socket.destroy()
    const { body } = await server.post(PULL, { max: 100, waitMs: 20_000 })
    assert.equal(body.messages.length, 16)
    assert.ok(body.messages.every(({ attempt }: { attempt: number }) => attempt === 1))
  })
})

async function serveWork(messages: number, limits: { unsentBytes?: number } = {}): Promise<TestServer> {
  const server = await serve({ limits })
  await server.tm.configureTopic('work', { lease: '10m' })
  for (let left = messages; left > 0; left -= 20) {
    const payloads = Array.from({ length: Math.min(left, 20) }, () => 'x'.repeat(MIB - 300))
    await server.tm.publishBatch('work', payloads)
  }
  return server
}

/** More than the kernel's buffers hold. */
function pullWithoutReading(server: TestServer): Socket {
  const body = '{"max":100}'
  const head = `POST ${PULL} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`
  return sendWithoutReading(server, head, body)
}

function sendWithoutReading({ url }: TestServer, head: string, body = ''): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.pause().write(`${head}host: localhost\r\n\r\n${body}`)
  return socket
}
