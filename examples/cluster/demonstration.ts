import type { Account } from './account.ts'
import type { Arguments } from './arguments.ts'
import { Cluster } from './cluster.ts'
import { type Comparison, compareIndexes } from './compare.ts'
import { killOneAfterAnother } from './kills.ts'
import type { Role } from './role.ts'
import { startServers } from './servers.ts'
import { GROUPS, type World, worldOf } from './settings.ts'
import { runOnOneMachine } from './single-machine.ts'
import { StuckError, type Watched, waitFor } from './wait.ts'

export type Surroundings = {
  readonly account: Account
  /** Folder of all machines. */
  readonly parent: string
  readonly signal: AbortSignal
}

/** Whether the cluster's index is the single machine's. */
export async function demonstrate(args: Arguments, surroundings: Surroundings): Promise<boolean> {
  const { account, parent, signal } = surroundings
  await using servers = await startServers(args, account, signal)
  const world = worldOf(args)
  const where = args.topics === 'nats' ? 'three NATS servers for the topics, PostgreSQL' : 'PostgreSQL'
  account.say(`servers: ${where}, and an S3 server`)
  account.say(`folders of the roles, with their logs: ${parent}`)
  await using cluster = await Cluster.start(world, servers, { parent, ticks: args.ticks })
  const roles = cluster.roles.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')
  account.say(`run ${world.runId}: ${roles}`)
  await runAndKill(cluster, { account, observer: cluster.observer, roles: cluster.roles, ticks: args.ticks, signal })
  const single = await indexOfOneMachine(world, surroundings)
  await using _ = single
  const index = await cluster.observer.index()
  if (index === undefined) throw new StuckError('The cluster has no index')
  account.wait('comparing both indexes')
  const comparison = await compareIndexes(index, single)
  account.print('', ...usageTable(cluster.roles), '', ...verdict(comparison))
  return comparison.differences.length === 0
}

async function runAndKill(cluster: Cluster, watched: Watched): Promise<void> {
  const { account } = watched
  await waitFor('the page is served', () => cluster.isServing(), watched)
  account.say(`the page: ${cluster.url}`)
  await killOneAfterAnother(cluster, watched)
  const { deadLetters } = await waitFor(
    'everything is indexed',
    ({ isWhole }) => isWhole && cluster.source.hasFinished,
    watched,
  )
  account.say(
    `all ${watched.ticks} ticks are indexed by ${GROUPS.length} indexers; ${deadLetters} batches are dead letters`,
  )
  for (const role of cluster.roles) await role.stop()
}

async function indexOfOneMachine(world: World, { account, parent, signal }: Surroundings) {
  account.say('the same seed on a single machine, with SQLite and files')
  return await runOnOneMachine(world, parent, account, signal)
}

function usageTable(roles: readonly Role[]): string[] {
  const rows = roles.map(role => [role.name, role.usage()] as const).filter(([, usage]) => usage.memoryBytes > 0)
  if (rows.length === 0) return ['Memory is not measured on this system']
  return [
    `${'role'.padEnd(14)}${'peak memory'.padStart(14)}${'processor'.padStart(12)}`,
    ...rows.map(([name, { memoryBytes, processorMs }]) => {
      const memory = `${Math.round(memoryBytes / 1e6)} MB`
      return `${name.padEnd(14)}${memory.padStart(14)}${`${(processorMs / 1_000).toFixed(1)} s`.padStart(12)}`
    }),
  ]
}

function verdict({ tables, rows, bytes, differences }: Comparison): string[] {
  if (differences.length > 0) {
    return ['DIFFERENT: the index of the cluster is not that of a single machine.', ...differences]
  }
  const size = `${rows.toLocaleString('en')} rows in ${tables} tables, ${(bytes / 1e6).toFixed(1)} MB as text`
  return [`EQUAL: the index of the cluster is that of a single machine, ${size}.`]
}
