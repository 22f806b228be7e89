import type { Logger, Store } from 'tidemark/store'
import { namingDamage } from './damaged-topic.ts'
import { jetStreamDeadLetters } from './dead-letters.ts'
import { jetStreamHeartbeats } from './heartbeats.ts'
import { jetStreamInspection } from './inspection.ts'
import { jetStreamJobs } from './jobs.ts'
import { jetStreamLeases } from './leases.ts'
import { jetStreamLog } from './log.ts'
import { Namespace } from './namespace.ts'
import type { NatsAddress } from './nats/address.ts'
import { Client } from './nats/client.ts'
import { Steward } from './steward.ts'
import { jetStreamSubscriptions } from './subscriptions.ts'
import { TopicStore } from './topic-store.ts'
import { jetStreamTopics } from './topics.ts'
import { jetStreamBackfills, jetStreamTracking } from './unsupported.ts'

export type JetStreamSettings = {
  readonly address: NatsAddress
  readonly namespace: string
  readonly replicas: number
  readonly timeoutMs: number
  readonly rowCacheBytes: number
  readonly logger: Logger
}

export async function openJetStream({ address, timeoutMs, ...settings }: JetStreamSettings): Promise<Store> {
  const client = await Client.connect(address, { timeoutMs, name: `tidemark ${settings.namespace}` })
  try {
    await client.streams.account()
    return partsOf(await Namespace.open(client, settings)).store
  } catch (error) {
    await client.close()
    throw error
  }
}

/** The store of a namespace, and what it is made of. */
export function partsOf(ns: Namespace): {
  readonly store: Store
  readonly topics: TopicStore
  readonly steward: Steward
} {
  const { client, names } = ns
  const topics = new TopicStore(ns)
  const steward = new Steward(ns)
  const jobs = jetStreamJobs(ns)
  const letters = jetStreamDeadLetters(ns, topics, steward)
  const subscriptions = jetStreamSubscriptions(ns, topics, steward)
  const close = async (withinMs = 5_000): Promise<void> => {
    if (client.isClosed) return
    await Promise.race([steward.close(), new Promise(resolve => setTimeout(resolve, withinMs).unref())])
    await client.close()
  }
  const store: Store = {
    capabilities: { persistent: true, publishesAtOnce: 4 },
    location: ns.location,
    topics: namingDamage(ns, jetStreamTopics(ns, topics)),
    log: namingDamage(ns, jetStreamLog(ns, topics, steward)),
    subscriptions: namingDamage(ns, subscriptions),
    heartbeats: namingDamage(ns, jetStreamHeartbeats(ns, topics, steward)),
    leases: namingDamage(ns, jetStreamLeases(ns, topics, steward)),
    deadLetters: namingDamage(ns, letters),
    tracking: jetStreamTracking,
    backfills: jetStreamBackfills,
    jobs,
    inspection: namingDamage(ns, jetStreamInspection({ ns, topics, jobs, letters, zombies: subscriptions.zombies })),
    watch: wake => {
      client.connection.listen(names.hint('*'), message => {
        const topicId = Number(message.subject.split('.').at(-1))
        if (message.string() === 'changed') topics.forget(topicId)
        wake(topicId)
      })
    },
    hint: topicId => ns.hints.tell(topicId),
    onGone: tell => ns.guard.onGone(tell),
    dropNamespace: async () => {
      await ns.assertThere()
      // The namespace's own stream last: until then an interrupted drop can be repeated.
      const streams = (await client.streams.names(names.prefix())).filter(names.isOwn)
      const own = names.namespaceStream()
      await Promise.all(streams.filter(stream => stream !== own).map(stream => client.streams.delete(stream)))
      await client.streams.delete(own)
      await close()
    },
    close,
  }
  return { store, topics, steward }
}
