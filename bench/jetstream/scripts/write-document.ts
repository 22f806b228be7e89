/** write-document.ts <what, as JSON>: replaces a document by compare-and-set all the time, and tells how long each write took. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { importPeer } from '../../peers/installed.ts'
import { REPLICAS, WARM_UP_MS } from '../bench-case.ts'
import type { WantedClaims } from '../cases/claims.ts'

type Connection = { close(): Promise<void> }
type Ack = { readonly seq: number }
type Module = {
  jetstream(connection: Connection): {
    publish(subject: string, payload: Uint8Array, options: object): Promise<Ack>
  }
  jetstreamManager(connection: Connection): Promise<{ streams: { add(config: object): Promise<unknown> } }>
}
type Transport = { connect(options: { servers: string[] }): Promise<Connection> }

const BYTES = 1_024
const PAUSE_MS = 10

const { url, topic, ms } = JSON.parse(process.argv[2] ?? '') as WantedClaims
const { module } = await importPeer<Module>('@nats-io/jetstream')
const { module: transport } = await importPeer<Transport>('@nats-io/transport-node')
const connection = await transport.connect({ servers: url.slice('nats://'.length).split(',') })
const name = `document-of-${topic}`
const config = { name, subjects: [name], storage: 'file', num_replicas: REPLICAS, max_msgs_per_subject: 1 }
await (await module.jetstreamManager(connection)).streams.add(config)
const stream = module.jetstream(connection)
const document = new Uint8Array(BYTES)
let { seq } = await stream.publish(name, document, {})
const go = once(process, 'message')
process.send?.('ready')
await go
const times: number[] = []
const first = performance.now() + WARM_UP_MS
while (performance.now() < first + ms) {
  const began = performance.now()
  seq = (await stream.publish(name, document, { expect: { lastSubjectSequence: seq } })).seq
  if (began > first) times.push(performance.now() - began)
  await sleep(PAUSE_MS)
}
await connection.close()
await new Promise(resolve => process.send?.(times, resolve))
process.disconnect()
