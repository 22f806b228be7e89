/** Claims a page, reports it, and never settles anything. */
import { open } from '../../index.ts'

export type HolderArguments = {
  readonly url: string
  readonly topic: string
  readonly group: string
  readonly size: number
}

const { url, topic, group, size } = JSON.parse(process.argv[2] ?? '') as HolderArguments
const tm = await open(url)
await tm.reader(topic, { group, batchSize: size, from: 'beginning' }).receive()
process.send?.('holding')
// Until it is killed: an open Tidemark alone does not keep a process alive.
setInterval(() => undefined, 60_000)
