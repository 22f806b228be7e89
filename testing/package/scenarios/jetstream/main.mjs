import '@tidemark/jetstream'
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'tidemark'

const cached = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tidemark/nats-server')
const program = ['nats-server', cached].find(isNewEnough)
if (program === undefined) {
  console.log('there is no nats-server 2.12 or later on the PATH, and npm run nats has fetched none')
  process.exit(77)
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-scenario-'))
const port = await freePort()
const server = spawn(program, ['-js', '-sd', folder, '-a', '127.0.0.1', '-p', `${port}`], { stdio: 'ignore' })
try {
  const url = `nats://127.0.0.1:${port}`
  const tm = await opened(url)
  await tm.publish('orders', { orderId: 7 })
  const reader = tm.reader('orders')
  const delivery = await reader.poll(20_000)
  assert.deepEqual(delivery?.payload, { orderId: 7 })
  await reader.ack(delivery)
  await tm.close()
  const { status, stdout, stderr } = spawnSync('npx', ['tidemark', 'doctor', '--database', url], { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /sync_interval/)
} finally {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true })
}

function isNewEnough(name) {
  const { status, stdout } = spawnSync(name, ['--version'], { encoding: 'utf8' })
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(status === 0 ? stdout : '') ?? []
  return major > 2 || (major === '2' && minor >= 12)
}

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => listener.once('listening', resolve))
  const { port } = listener.address()
  await new Promise(resolve => listener.close(resolve))
  return port
}

/** The server needs a moment. */
async function opened(url) {
  for (let left = 100; ; left--) {
    try {
      return await open(url, { replicas: 1 })
    } catch (error) {
      if (left === 0 || error.code !== 'TIDEMARK_DATABASE_UNREACHABLE') throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}
