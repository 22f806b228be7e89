/** The engine as `conformance()` takes it: a server of this test file, and an account of it for each database. */
import { after } from 'node:test'
import { type ConformanceStore, testDatabase } from 'tidemark/conformance'
import { skipWithoutNats } from '../../../testing/nats-binary.ts'
import { type NatsCluster, startNats } from '../../../testing/nats-server.ts'
import '../src/index.ts'
import { parseAddress } from '../src/nats/address.ts'
import { Client } from '../src/nats/client.ts'
import { hooksOf } from './hooks.ts'

const ACCOUNTS = Array.from({ length: 32 }, (_, n) => `u${n + 1}`)
const accounts = ACCOUNTS.map(
  user => `${user.toUpperCase()}: { jetstream: enabled, users: [{ user: ${user}, password: test }] }`,
)
const settings = `accounts { ${accounts.join(', ')}, SYS: { users: [{ user: sys, password: test }] } }\nsystem_account: SYS\nmax_payload: 40MB\nmax_pending: 128MB`

const free = [...ACCOUNTS]
let cluster: Promise<NatsCluster> | undefined

/** Number of servers: TIDEMARK_TEST_NATS_NODES=3 runs the suites on a cluster. */
const NODES = process.env.TIDEMARK_TEST_NATS_NODES === '3' ? 3 : 1

export const skipReason = skipWithoutNats()

after(async () => {
  await (await cluster)?.[Symbol.asyncDispose]()
})

export const jetStreamStore: ConformanceStore & { readonly isShared: boolean } = {
  name: NODES === 1 ? 'JetStream' : 'JetStream on three nodes',
  isShared: true,
  nodeFlags: [`--import=${new URL('../src/index.ts', import.meta.url)}`],
  lacks: {
    tracking: 'the engine has none',
    operator: 'the engine has no schema',
    'concurrent transactions': 'the engine takes no part in transactions',
    'exact counts': 'ids have gaps',
    'dense ids': 'an id is the sequence of its entry and the place in it',
  },
  async fresh() {
    cluster ??= startNats({ nodes: NODES, settings })
    const { url } = await cluster
    const user = free.shift()
    if (user === undefined) throw new Error('every account is in use')
    const own = url.replace('nats://', `nats://${user}:test@`)
    const client = await Client.connect(parseAddress({ url: own, option: 'url' }), { timeoutMs: 5_000, name: 'hooks' })
    return testDatabase(own, {
      ...hooksOf(client),
      remove: async () => {
        for (const name of await client.streams.names('')) await client.streams.delete(name)
        await client.close()
        free.push(user)
      },
    })
  },
}
