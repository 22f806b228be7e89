import * as pipeline from '@tidemark/pipeline'
import { open } from 'tidemark'

const population = pipeline.defineIndexer({
  name: 'population',

  async prepare(run, tx) {
    const columns = 'tick bigint primary key, alive bigint not null, energy double precision not null'
    await tx.run(run.sql(`create table if not exists run.population (${columns})`))
  },

  async flush(ticks, tx, { run }) {
    const upsert = run.sql(`
      insert into run.population (tick, alive, energy) values (?, ?, ?)
      on conflict (tick) do update set alive = excluded.alive, energy = excluded.energy`)
    for (const { tick, organisms } of ticks) {
      const alive = organisms.map(bytes => pipeline.decodeOrganism(bytes)).filter(({ isDead }) => !isDead)
      const energy = alive.reduce((sum, organism) => sum + organism.energy, 0)
      await tx.run(upsert, tick, alive.length, energy)
    }
  },
})

await using topics = await open('sqlite:./data/topics.db', { registry: pipeline.contractsRegistry })
await using indexer = new pipeline.BatchIndexer(population, {
  storage: await pipeline.FileSystemStorage.open({ root: './data/storage' }),
  index: 'sqlite:./data/indexes', // or 'postgres://user@host/database'
  source: pipeline.topicSource(topics),
  flushTimeout: '1s',
  ...(process.argv[2] !== undefined && { runId: process.argv[2] }), // else the next run that starts
})
indexer.events.on('indexed', ({ tickStart, tickEnd }) => console.log(`indexed ticks ${tickStart} to ${tickEnd}`))
process.once('SIGINT', () => indexer.stop())
await indexer.start()
await indexer.ended()
