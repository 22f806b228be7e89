import { DatabaseUnreachableError } from '../errors.ts'
import type { ClaimRequest, Settlement } from '../stores/leases.ts'
import type { Store, StoreConcepts } from '../stores/store.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { type FailureKind, isFault, NO_SUBJECT, type Outages, type Subject, subjectOf } from './outages.ts'

/** The kind of failure of each method. null: it can't fail, or its caller reports the failure. */
type Kinds = { readonly [C in keyof StoreConcepts]: { readonly [M in keyof StoreConcepts[C]]: FailureKind | null } }

const KINDS: Kinds = {
  topics: {
    find: 'read',
    findIn: 'read',
    findInSync: null,
    list: 'read',
    configure: 'write',
    preview: 'read',
    delete: 'write',
  },
  log: {
    publish: 'write',
    publishSync: null,
    probe: 'read',
    find: 'read',
    browse: 'read',
    tail: 'read',
    cleanUp: 'write',
  },
  subscriptions: {
    subscribe: 'write',
    find: 'read',
    setStatus: 'write',
    resurrect: 'write',
    resetCursor: 'write',
    previewReset: 'read',
    forceAdvance: 'write',
    acknowledgeLoss: 'write',
    remove: 'write',
    ended: 'read',
    zombies: 'read',
  },
  heartbeats: { send: 'heartbeat', consumers: 'read', detectDead: 'write' },
  leases: {
    claim: 'claim',
    settle: 'settle',
    extend: 'settle',
    size: 'read',
    list: 'read',
    holders: 'read',
    release: 'write',
    retries: 'read',
    receiptKey: 'read',
    forgetReader: null,
  },
  deadLetters: {
    list: 'read',
    errors: 'read',
    find: 'read',
    redrive: 'write',
    undeliverable: 'read',
    discard: 'write',
  },
  tracking: { switch: 'write', fill: 'write', clearBits: 'write', completion: 'read', completeOrphans: 'write' },
  backfills: { start: 'write', take: 'write', runBatch: 'write', setStatus: 'write', find: 'read' },
  jobs: { lock: 'write', renew: 'write', unlock: 'write', list: 'read' },
  inspection: {
    describe: 'read',
    lanes: 'read',
    messageStates: 'read',
    stats: 'read',
    examine: 'read',
    unsubscribedTopics: 'read',
    size: 'read',
    clock: 'read',
    poolUse: null,
  },
}

/** The store, with every failure counted and every outage reported: all database calls pass through here. */
export function watchedStore(store: Store, outages: Outages): Store {
  return {
    ...watchedConcepts(store, outages),
    capabilities: store.capabilities,
    location: store.location,
    watch: wake => store.watch(wake),
    hint: topicId => store.hint(topicId),
    onGone: tell => store.onGone(tell),
    dropNamespace: () => store.dropNamespace(),
    close: withinMs => store.close(withinMs),
  }
}

type Method = (...args: unknown[]) => unknown
type Methods = Record<string, Method>

function watchedConcepts(store: StoreConcepts, outages: Outages): StoreConcepts {
  const concepts = Object.entries(KINDS).map(([concept, kinds]) => {
    const object = store[concept as keyof StoreConcepts] as unknown as Methods
    const methods = Object.entries<FailureKind | null>(kinds).map(([name, kind]) => {
      const method = object[name]?.bind(object) as Method
      return [name, kind === null ? method : watch(method, `${concept}.${name}`, kind, outages)]
    })
    return [concept, Object.fromEntries(methods)]
  })
  return Object.fromEntries(concepts) as StoreConcepts
}

function watch(method: Method, name: string, kind: FailureKind, outages: Outages): Method {
  return async (...args) => {
    const started = performance.now()
    try {
      const result = await method(...args)
      if (outages.isAny) outages.succeeded(kind, subjectOfCall(name, args))
      return result
    } catch (error) {
      if (isFault(error) && !isCallers(name, args, error)) {
        outages.failed(kind, subjectOfCall(name, args), error, new Date(Date.now() - (performance.now() - started)))
      }
      throw error
    }
  }
}

/** In a caller's own transaction something else may have failed before. */
const isCallers = (name: string, [, , tx]: unknown[], error: unknown): boolean =>
  name === 'log.publish' && tx !== undefined && !(error instanceof DatabaseUnreachableError)

function subjectOfCall(name: string, [first]: unknown[]): Subject {
  if (name === 'leases.claim') {
    const { topic, subscription } = first as ClaimRequest
    return subjectOf(topic.name, subscription.group)
  }
  if (name === 'log.publish') return subjectOf((first as TopicRecord).name)
  if (name === 'leases.settle') return { where: {}, keys: (first as readonly Settlement[]).flatMap(keysOf) }
  if (name === 'leases.extend') return { where: {}, keys: [first as string] }
  return NO_SUBJECT
}

/**
 * One for the acks of a lease and one for each failure: a settlement that is refused is repeated every two seconds, and
 * the others, of other leases and of the same one, succeed meanwhile.
 */
const keysOf = ({ token, nacks }: Settlement): string[] => [
  ...(nacks.length === 0 ? [token] : []),
  ...nacks.map(({ slot }) => `${token}/${slot}`),
]
