/** A process with a topic that gets four messages a second and many groups that take them. */
import { open } from 'tidemark'

const [, , address = '', topic = '', count = '50'] = process.argv
await using topics = await open(address, { maintenance: false })
for (let n = 0; n < Number(count); n++) {
  const group = topics.consumerGroup(topic, `group-${n}`)
  group.addConsumer('one', async () => undefined)
  await group.start({ from: 'now' })
}
console.log('started')
setInterval(() => void topics.publish(topic, { at: Date.now() }), 250)
await new Promise(() => undefined)
