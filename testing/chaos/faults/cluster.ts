/** Faults of a NATS cluster: its nodes, batches that nobody completes, and the process that steers a group. */
import { setTimeout as delay } from 'node:timers/promises'
import { parseAddress } from '../../../packages/jetstream/src/nats/address.ts'
import { Client } from '../../../packages/jetstream/src/nats/client.ts'
import { beginBatches } from '../../../packages/jetstream/test/half-batches.ts'
import type { NatsCluster } from '../../nats-server.ts'
import type { SeededRandom } from '../../seeded-random.ts'
import type { Fault, Scene } from './fault.ts'

const NODE = { engines: ['jetstream'], lane: 'database', reaches: [] } as const
/** A server forgets a batch that nobody has completed after this time. */
const BATCH_LIFE_MS = 10_000

export const leaderKilled: Fault = {
  ...NODE,
  name: 'leader-killed',
  about: 'JetStream: SIGKILL of the node that leads a stream; it starts again after a while',
  async inject(scene, random) {
    const node = await leaderOf(scene, random)
    await node.kill()
    await delay(1_000 + random.below(4_000))
    await node.start()
  },
}

export const leaderPaused: Fault = {
  ...NODE,
  name: 'leader-paused',
  about: 'JetStream: SIGSTOP of the node that leads a stream, until another leads; then it goes on',
  async inject(scene, random) {
    const node = await leaderOf(scene, random)
    node.pause()
    try {
      await delay(4_000 + random.below(8_000))
    } finally {
      node.resume()
    }
  },
}

export const allKilled: Fault = {
  ...NODE,
  name: 'all-killed',
  about: 'JetStream: SIGKILL of all nodes at once, and a new start',
  async inject(scene, random) {
    const { nodes } = clusterOf(scene)
    await Promise.all(nodes.map(node => node.kill()))
    await delay(random.below(1_000))
    await Promise.all(nodes.map(node => node.start()))
  },
}

export const halfBatches: Fault = {
  ...NODE,
  name: 'half-batches',
  about: 'JetStream: a client begins up to 60 atomic batches on a stream and completes none',
  async inject(scene, random) {
    const client = await clientOf(scene)
    const names = (await client.streams.names('TM-default-')).filter(name => /-[LG]\d/.test(name))
    const [, kind = '', topic] = /-([LG])(\d.*)$/.exec(random.pick(names)) ?? []
    const subject = `tm.default.${kind.toLowerCase()}.${topic}.half`
    await client.close()
    await beginBatches(scene.place.directUrl, subject, 1 + random.below(60))
    await delay(random.below(BATCH_LIFE_MS))
  },
}

export const blockedProcess: Fault = {
  name: 'blocked-steward',
  about: 'JetStream: a process that may apply the changes of others computes for 3 to 6 s and answers nobody',
  engines: ['jetstream'],
  lane: 'processes',
  reaches: [],
  async inject({ fleet }, random) {
    for (const name of STEERING)
      if (random.chance(0.6)) fleet.tell(name, { order: 'block', ms: 3_000 + random.below(3_000) })
    await delay(3_000)
  },
}

export const closedProcess: Fault = {
  name: 'closed-steward',
  about: 'JetStream: a process that may apply the changes of others ends in an orderly way, and starts again',
  engines: ['jetstream'],
  lane: 'processes',
  reaches: [],
  async inject({ fleet }, random) {
    await fleet.renew(random.pick(STEERING))
  },
}

const STEERING = ['groups-1', 'groups-2', 'readers', 'puller', 'mortal']

type Node = NatsCluster['nodes'][number]

/** Of a stream of the run. */
async function leaderOf(scene: Scene, random: SeededRandom): Promise<Node> {
  const { nodes } = clusterOf(scene)
  const client = await clientOf(scene)
  try {
    const { cluster } = await client.streams.info(random.pick(await client.streams.names('TM-default-')))
    return nodes.find(({ name }) => name === cluster?.leader) ?? random.pick(nodes)
  } catch {
    return random.pick(nodes) // There is none at the moment.
  } finally {
    await client.close()
  }
}

const clientOf = ({ place }: Scene): Promise<Client> =>
  Client.connect(parseAddress({ url: place.directUrl, option: 'url' }), { timeoutMs: 5_000, name: 'chaos' })

function clusterOf({ place }: Scene): NatsCluster {
  if (place.cluster === undefined) throw new Error('This fault needs a NATS cluster')
  return place.cluster
}
