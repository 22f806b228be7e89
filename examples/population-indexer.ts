import { BatchIndexer, contractsRegistry, FileSystemStorage, topicSource } from '@tidemark/pipeline'
import { open } from 'tidemark'
import { population } from './population/population.ts'

await using topics = await open('sqlite:./data/topics.db', { registry: contractsRegistry })
await using indexer = new BatchIndexer(population, {
  storage: await FileSystemStorage.open({ root: './data/storage' }),
  index: 'sqlite:./data/index', // or 'postgres://user@host/database'
  source: topicSource(topics),
  flushTimeout: '1s',
  ...(process.argv[2] !== undefined && { runId: process.argv[2] }), // else the next run that starts
})
indexer.events.on('indexed', ({ tickStart, tickEnd }) => console.log(`indexed ticks ${tickStart} to ${tickEnd}`))
process.once('SIGINT', () => indexer.stop())
await indexer.start()
await indexer.ended()
