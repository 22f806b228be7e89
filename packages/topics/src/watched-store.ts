import { DatabaseUnreachableError } from './errors.ts'
import { type FailureKind, isFault, type Outages } from './outages.ts'
import type { ClaimRequest, Store, TopicRecord } from './stores/store.ts'

/** What fails in these is told by whoever calls, or can't fail. */
const UNWATCHED: ReadonlySet<PropertyKey> = new Set<keyof Store>([
  'watch',
  'hint',
  'forgetReader',
  'poolUse',
  'onGone',
  'dropNamespace',
  'close',
])

const WRITES: ReadonlySet<PropertyKey> = new Set<keyof Store>([
  'publish',
  'configureTopic',
  'subscribe',
  'setStatus',
  'resurrect',
  'detectDead',
  'removeSubscription',
  'lockJob',
  'renewJob',
  'unlockJob',
  'cleanUp',
  'forceAdvance',
  'setTracking',
  'fillTracking',
  'clearBits',
  'completeOrphans',
  'startBackfill',
  'takeBackfill',
  'backfillBatch',
  'setBackfillStatus',
  'deleteTopic',
  'resetCursor',
  'releaseClaim',
  'acknowledgeLoss',
  'redrive',
  'discard',
  'releaseClaim',
])

type Method = (...args: unknown[]) => unknown

/** The store, of which every failure is counted and every outage told: one point for whatever is asked of a database. */
export function watchedStore(store: Store, outages: Outages): Store {
  const watched = new Map<PropertyKey, Method>()
  return new Proxy(store, {
    get(target, name) {
      const known = watched.get(name)
      if (known !== undefined) return known
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const method = value.bind(target) as Method
      const watching = UNWATCHED.has(name) ? method : watch(method, name, outages)
      watched.set(name, watching)
      return watching
    },
  })
}

function watch(method: Method, name: PropertyKey, outages: Outages): Method {
  const kind = kindOf(name)
  return async (...args) => {
    const started = performance.now()
    try {
      const result = await method(...args)
      outages.succeeded(kind, whereOf(name, args))
      return result
    } catch (error) {
      if (isFault(error) && !isCallers(name, args, error)) {
        outages.failed(kind, whereOf(name, args), error, new Date(Date.now() - (performance.now() - started)))
      }
      throw error
    }
  }
}

function kindOf(name: PropertyKey): FailureKind {
  if (name === 'claim' || name === 'heartbeat') return name
  if (name === 'settle' || name === 'extend') return 'settle'
  return WRITES.has(name) ? 'write' : 'read'
}

/** In a caller's own transaction anything may have failed before. */
const isCallers = (name: PropertyKey, [, , tx]: unknown[], error: unknown): boolean =>
  name === 'publish' && tx !== undefined && !(error instanceof DatabaseUnreachableError)

function whereOf(name: PropertyKey, [first]: unknown[]): { topic?: string; group?: string } {
  if (name === 'claim') {
    const { topic, subscription } = first as ClaimRequest
    return { topic: topic.name, group: subscription.group }
  }
  return name === 'publish' ? { topic: (first as TopicRecord).name } : {}
}
