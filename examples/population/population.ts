import { decodeOrganism, defineIndexer, defineIndexerType } from '@tidemark/pipeline'

export const population = defineIndexer({
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
      const alive = organisms.map(bytes => decodeOrganism(bytes)).filter(({ isDead }) => !isDead)
      const energy = alive.reduce((sum, organism) => sum + organism.energy, 0)
      await tx.run(upsert, tick, alive.length, energy)
    }
  },
})

/** What a configuration takes as a `type`. */
export default defineIndexerType(population)
