import { findFreePort } from '../../testing/free-port.ts'
import { Observer } from './progress.ts'
import { Role } from './role.ts'
import type { Servers } from './servers.ts'
import { CONFIG, forServer, INDEXERS, onCluster, SOURCE, type World } from './settings.ts'

/** The roles of docs/guides/deploying.md, each in a process of its own. */
export class Cluster implements AsyncDisposable {
  readonly source: Role
  readonly indexers: readonly Role[]
  readonly server: Role
  /** Address of the page. */
  readonly url: string
  readonly observer: Observer

  static async start(
    world: World,
    servers: Servers,
    options: { readonly parent: string; readonly ticks: number },
  ): Promise<Cluster> {
    const observer = await Observer.open(world.runId, options.ticks, servers.database, servers.topics)
    const cluster = new Cluster(world, servers, options.parent, await findFreePort(), observer)
    for (const role of cluster.roles) role.start()
    return cluster
  }

  private constructor(world: World, servers: Servers, parent: string, port: number, observer: Observer) {
    const environment = onCluster(world, servers)
    const start = ['start', '--config', CONFIG, '--port', '0', '--log', 'json', '--only']
    const indexers = ['metadata-indexer', ...INDEXERS].join(',')
    this.source = new Role({ name: 'source', args: [...start, SOURCE], environment, parent, endsItself: true })
    this.indexers = [1, 2].map(
      number =>
        new Role({
          name: `indexer ${number}`,
          args: [...start, indexers],
          environment,
          parent,
        }),
    )
    this.server = new Role({
      name: 'server',
      args: ['serve', '--port', String(port), '--log', 'json'],
      environment: forServer(servers),
      parent,
    })
    this.url = `http://127.0.0.1:${port}`
    this.observer = observer
  }

  get roles(): readonly Role[] {
    return [this.source, ...this.indexers, this.server]
  }

  /** Whether the server says that the page can be shown. */
  async isServing(): Promise<boolean> {
    try {
      const answer = await fetch(`${this.url}/health/ready`, { signal: AbortSignal.timeout(5_000) })
      await answer.body?.cancel()
      return answer.ok
    } catch {
      return false // not yet
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.roles.map(role => role.kill()))
    await this.observer[Symbol.asyncDispose]()
  }
}
