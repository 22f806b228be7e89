/** A process with one group, until it is killed. */
import { open } from 'tidemark'

const [, , address = '', topic = '', name = ''] = process.argv
await using topics = await open(address, { maintenance: false })
const group = topics.consumerGroup(topic, name)
group.addConsumer(`${name}-${process.pid}`, async () => undefined)
await group.start({ from: 'now', heartbeat: { interval: '500ms', timeout: '2s', misses: 1 } })
console.log('started')
await new Promise(() => setInterval(() => undefined, 60_000))
