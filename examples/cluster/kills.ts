import type { Cluster } from './cluster.ts'
import type { Role } from './role.ts'
import { BATCH_SIZE } from './settings.ts'
import { type Watched, waitFor } from './wait.ts'

/** Batches that the other indexer is seen to index while one is gone. */
const BATCHES_OF_OTHER = 2

/** One role after another, spread over the run: SIGKILL, a look at the others, and a new start. */
export async function killOneAfterAnother(cluster: Cluster, watched: Watched): Promise<void> {
  const { source, indexers, server } = cluster
  const victims = [source, ...indexers, server]
  for (const [at, role] of victims.entries()) {
    const tick = Math.floor((watched.ticks * (at + 1)) / (victims.length + 2))
    const { indexed } = await waitFor(`${role.name} is killed at tick ${tick}`, each => each.indexed >= tick, watched)
    await killAndStart(role, indexed, cluster, watched)
  }
}

async function killAndStart(role: Role, indexed: number, cluster: Cluster, watched: Watched): Promise<void> {
  const { account } = watched
  const { pid } = role
  await role.kill()
  account.say(`${role.name} (pid ${pid}) is killed with SIGKILL; ${indexed} of ${watched.ticks} ticks are indexed`)
  if (cluster.indexers.includes(role)) {
    const goal = indexed + BATCHES_OF_OTHER * BATCH_SIZE
    const others = await waitFor('the other indexer goes on', each => each.indexed >= goal || each.isWhole, watched)
    account.say(`the other indexer goes on alone: ${others.indexed} ticks are indexed`)
  }
  role.start()
  account.say(`${role.name} is started again (pid ${role.pid})${NEXT[role.name] ?? ''}`)
  if (role === cluster.server) {
    await waitFor('the page is served again', () => cluster.isServing(), watched)
    account.say('the page is served again')
  }
}

const NEXT: Readonly<Record<string, string>> = {
  source: '; it continues from its last saved state, and produces again what was not stored',
}
