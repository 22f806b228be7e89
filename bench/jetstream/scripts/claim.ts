/** claim.ts <what, as JSON>: claims and settles for a while, as one of several processes. Tells the time of each claim. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WARM_UP_MS } from '../bench-case.ts'
import type { WantedClaims } from '../cases/claims.ts'
import { openTopics } from '../open-topics.ts'

const { url, topic, group, limit, workMs, ms } = JSON.parse(process.argv[2] ?? '') as WantedClaims
await using tidemark = await openTopics(url)
const work = async (): Promise<number> => {
  const began = performance.now()
  const { receipt } = await tidemark.pull(topic, group, { max: limit })
  if (receipt === null) throw new Error('the backlog was too short')
  const took = performance.now() - began
  await sleep(workMs * (0.5 + Math.random()))
  await tidemark.settle(receipt, { acks: 'all' })
  return took
}
// Who leads the group is settled before the others start, as in a program that runs.
await work()
const go = once(process, 'message')
process.send?.('ready')
await go
const times: number[] = []
const began = performance.now() + WARM_UP_MS
while (performance.now() < began) await work()
while (performance.now() < began + ms) times.push(await work())
await new Promise(resolve => process.send?.(times, resolve))
process.disconnect()
