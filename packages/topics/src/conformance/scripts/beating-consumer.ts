/**
 * A group with frequent heartbeats that prints what it receives, and settles what it holds when told to. It also stops
 * itself with SIGSTOP when told to: stopped from outside it may hold the lock of a SQLite file, and nobody else can write.
 */
import { open } from '../../index.ts'

export type BeatingArguments = {
  readonly url: string
  readonly topic: string
  readonly group: string
  /** Wait for a command before each message is done. */
  readonly hold: boolean
}

const { url, topic, group: name, hold } = JSON.parse(process.argv[2] ?? '') as BeatingArguments
const tm = await open(url, { maintenance: false })
const waiting: (() => void)[] = []
let released = !hold

const group = tm.consumerGroup<number>(topic, name, { batchSize: 3 })
group.addConsumer(
  `consumer-${process.pid}`,
  async ({ payload, attempt }) => {
    console.log(`got ${payload} attempt ${attempt}`)
    if (!released) await new Promise<void>(resolve => waiting.push(resolve))
  },
  { concurrency: 8 },
)
for (const event of ['group-resurrected', 'group-stopped', 'stale', 'taken-over'] as const) {
  tm.on(event, () => console.log(event))
}
await group.start({ from: 'beginning', heartbeat: { interval: 50, timeout: '5s', misses: 3 } })
console.log('started')
process.on('message', async (message: { freeze?: true; release?: true; stop?: true }) => {
  if (message.freeze) {
    console.log('freezing')
    process.kill(process.pid, 'SIGSTOP')
  }
  if (message.release) {
    released = true
    for (const resolve of waiting.splice(0)) resolve()
  }
  if (message.stop) {
    await tm.close()
    process.disconnect()
  }
})
