/** A process of the demonstration: one group, until it is killed. */
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { open } from 'tidemark'
import { type Order, TOPIC } from './orders.ts'

const [, , address = '', name = ''] = process.argv
const HANDLER_MS = 15

// The parent process disappeared without ending this one.
process.stdin.resume()
process.stdin.once('end', () => process.exit(0))
;(process.stdin as Socket).unref()

await using topics = await open(address, { maintenance: false })
const group = topics.consumerGroup<Order>(TOPIC, name)
group.addConsumer(`${name}-${process.pid}`, () => delay(HANDLER_MS))
await group.start({ from: 'now', heartbeat: { interval: '1s', timeout: '3s', misses: 3 } })
await new Promise(resolve => process.once('SIGTERM', resolve))
await group.stop()
