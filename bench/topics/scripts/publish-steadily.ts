/** publish-steadily.ts <url> <topic> <count>: the other process of the case latency-across. */
import { open } from 'tidemark'
import { publishSteadily } from '../steady-publishing.ts'

const [url = '', topic = '', count = ''] = process.argv.slice(2)
await using tidemark = await open(url)
await publishSteadily(Number(count), payload => tidemark.publish(topic, payload))
