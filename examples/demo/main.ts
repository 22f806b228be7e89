import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { open } from 'tidemark'
import { GroupProcess } from './group-process.ts'
import { Screen } from './screen.ts'

const HELP = `Tidemark's demonstration: one producer, three groups in processes of their own, one of them killed.

  npm run demo:topics                      runs it for about 15 seconds on a SQLite file in a temporary folder
  npm run demo:topics -- --seconds 60      runs it longer
  npm run demo:topics -- --url <address>   uses that database, e.g. postgres://user@host/database (topic 'orders')
`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '15' },
    url: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
})
const seconds = Number(values.seconds)
if (values.help) {
  console.log(HELP)
  process.exit()
}
if (!(seconds >= 1)) {
  console.error(`--seconds takes a number from 1 up, not '${values.seconds}'\n\n${HELP}`)
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-demo-'))
const url = values.url ?? `sqlite:${join(folder, 'demo.db')}`
const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort())
process.once('SIGTERM', () => interrupted.abort())

const tm = await open(url)
await tm.configureTopic('orders', { semantics: 'pub-sub', lease: '2s', backoff: { initial: '500ms', max: '2s' } })
const groups = [
  new GroupProcess(url, 'email', { ms: 8, failures: 3 }),
  new GroupProcess(url, 'billing', { ms: 5, failures: 0 }),
  new GroupProcess(url, 'analytics', { ms: 2, failures: 0 }),
]
const screen = new Screen(tm, groups)

try {
  await Promise.all(groups.map(group => group.start()))
  screen.say('three groups are running, each in a process of its own')
  const published = publishOrders()
  await showKillAndRecovery()
  await published
  if (!interrupted.signal.aborted) {
    await screen.untilDrained(interrupted.signal)
    // What they have processed is told by the processes, and their last words arrive before they have ended.
    await Promise.all(groups.map(group => group.stop()))
    await screen.conclude()
  }
} finally {
  await Promise.all(groups.map(group => group.stop()))
  await screen.close()
  await tm.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = screen.ok || interrupted.signal.aborted ? 0 : 1

/** About 150 a second, with a burst now and then. */
async function publishOrders(): Promise<void> {
  const until = performance.now() + seconds * 1_000
  for (let orderId = 1; performance.now() < until && !interrupted.signal.aborted; ) {
    const count = orderId % 1_000 < 50 ? 40 : 3
    const orders = Array.from({ length: count }, () => ({ orderId: orderId++, total: 10 + (orderId % 90) }))
    await tm.publishBatch('orders', orders)
    await pause(20)
  }
  screen.say('the producer is done')
}

async function showKillAndRecovery(): Promise<void> {
  const billing = groups[1]
  await pause(seconds * 300)
  if (interrupted.signal.aborted || billing === undefined) return
  billing.kill()
  screen.say(
    `SIGKILL to billing (pid ${billing.pid}): its work stays leased until the lease runs out, the others go on`,
  )
  await pause(seconds * 250)
  if (interrupted.signal.aborted) return
  await billing.start()
  screen.say(`billing is back (pid ${billing.pid}): it goes on where it stopped, and takes over what it had held`)
}

async function pause(ms: number): Promise<void> {
  await delay(ms, undefined, { signal: interrupted.signal }).catch(() => undefined)
}
