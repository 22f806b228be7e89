/** A process of a group: claims and acknowledges page after page, and tells which. `block`: it computes and answers nobody. */
import { claim, numbersOf, openParts, settle } from '../parts.ts'

const [url = '', namespace = '', group = ''] = process.argv.slice(2)
const parts = await openParts(url, namespace)
const topic = await parts.store.topics.find('work')
if (topic === undefined) throw new Error('there is no topic')
const subscription = await parts.store.subscriptions.subscribe(topic, group, 'beginning')
let isEnding = false

process.on('message', ({ order }: { order: 'close' | 'block' }) => {
  if (order === 'close') isEnding = true
  if (order !== 'block') return
  const end = performance.now() + 4_000
  while (performance.now() < end);
})

while (!isEnding) {
  const lease = await claim(parts, topic, subscription, { limit: 5, leaseMs: 1_000 })
  if (lease === null) {
    await new Promise(resolve => setTimeout(resolve, 20))
    continue
  }
  process.send?.({ claimed: numbersOf(lease) })
  const { stale } = await settle(parts, lease, { acks: 'all' })
  process.send?.({ acked: numbersOf(lease).filter((_, slot) => !stale.includes(slot)) })
}
await parts.store.close()
process.disconnect()
