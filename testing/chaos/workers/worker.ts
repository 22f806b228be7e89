/** The part that every process of a run has in common: opening, orders from the run, journal, and an orderly end. */

import { type FileHandle, open as openFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import {
  ClosedError,
  DatabaseError,
  DatabaseUnreachableError,
  type EventName,
  NamespaceGoneError,
  OutcomeUnknownError,
  SubscriptionGoneError,
  type Tidemark,
  TopicNotFoundError,
} from 'tidemark'
import { SeededRandom } from '../../seeded-random.ts'
import { Journal, type Phase } from '../journal.ts'
import { openNamespace } from '../open-namespace.ts'
import { SILENT } from '../silent.ts'
import { fullName, type Order, topicsOf, type WorkerArguments } from '../world.ts'

/** Reported by the product, and counted at the end of the run. */
const COUNTED: readonly EventName[] = [
  'stale',
  'taken-over',
  'dead-lettered',
  'group-dead',
  'group-resurrected',
  'database-rewound',
  'messages-lost',
  'clean-up',
  'claim-conflict',
  'outage',
  'group-suspended',
  'clock-off',
  'namespace-gone',
  'released',
]

const ENGINE_OPTIONS = {
  sqlite: { busyTimeout: '3s' },
  postgres: { statementTimeout: 3_000, poolSize: 4 },
  jetstream: { requestTimeout: 3_000 },
} as const
const RETRY_MS = 100

export const given = JSON.parse(process.argv[2] ?? '') as WorkerArguments
export const random = new SeededRandom(given.seed)
export const journal = new Journal(given.journals, given.name)
export const stopping = new AbortController()

let calls = 0
export const nextCall = (): number => ++calls

const rightTime = Date.now
let failingSyncs = 0

/** The run waits for it before the first fault. */
export const sayReady = (): void => void process.send?.('ready')

/**
 * Opens the namespace, as often as it takes, and hands it to `work` until the run asks for the end. The process is ready
 * then, unless `work` itself says so later.
 */
export async function runWorker(work: (tm: Tidemark) => Promise<void>, isReadyThen = true): Promise<void> {
  process.on('message', (order: Order) => obey(order))
  await breakSyncs()
  while (!stopping.signal.aborted) {
    const tm = await openPatiently()
    if (tm === undefined) break
    if (isReadyThen) sayReady()
    try {
      await work(tm)
    } catch (error) {
      if (!isGone(error)) throw error
    } finally {
      await tm.close({ timeout: '5s' })
    }
  }
  process.disconnect()
}

/** The namespace was dropped or replaced, or the creation of a topic or group was lost: a program opens it anew. */
function isGone(error: unknown): boolean {
  return [NamespaceGoneError, TopicNotFoundError, SubscriptionGoneError].some(kind => error instanceof kind)
}

async function openPatiently(): Promise<Tidemark | undefined> {
  while (!stopping.signal.aborted) {
    try {
      return await openOnce()
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      await pause(RETRY_MS)
    }
  }
  return undefined
}

async function openOnce(): Promise<Tidemark> {
  const tm = await openNamespace(given.engine, given.url, {
    namespace: given.namespace,
    autoCreate: false,
    logger: SILENT,
    maintenance: given.maintains && { detectEvery: '700ms', cleanUpEvery: '1s', cleanUpBatch: 100 },
    ...ENGINE_OPTIONS[given.engine],
  })
  try {
    for (const [topic, { options }] of Object.entries(topicsOf(given.namespace)))
      await tm.configureTopic(topic, options)
  } catch (error) {
    await tm.close({ timeout: 0 })
    throw error
  }
  for (const name of COUNTED) {
    tm.on(name, event => {
      const { topic = '', group, count = 1 } = event as { topic?: string; group?: string; count?: number }
      journal.write({ what: 'event', name, topic: nameOf(topic), ...(group !== undefined && { group }), count })
    })
  }
  return tm
}

export const nameOf = (topic: string): string => fullName(given.namespace, topic)

/** Ends at once when the run asks for the end. */
export async function pause(ms: number): Promise<void> {
  await delay(ms, undefined, { signal: stopping.signal }).catch(() => {}) // asked to stop: go on at once
}

/** Whether a call that threw may have taken effect. */
export function phaseOf(error: unknown): Phase {
  if (error instanceof OutcomeUnknownError || error instanceof DatabaseUnreachableError) return 'unknown'
  // Unanswered when the namespace was closed.
  return error instanceof ClosedError ? 'unknown' : 'failed'
}

export const codeOf = (error: unknown): string =>
  error instanceof Error ? String((error as { code?: unknown }).code ?? error.name) : String(error)

/** Errors of a database that is away, locked or full: the caller tries again. Others are not expected. */
export function isPassing(error: unknown): boolean {
  return (error instanceof DatabaseError && !(error instanceof NamespaceGoneError)) || error instanceof ClosedError
}

function obey(order: Order): void {
  if (order.order === 'stop') stopping.abort()
  else if (order.order === 'clock') Date.now = () => rightTime() + order.ms
  else if (order.order === 'fail-syncs') failingSyncs = order.count
  else {
    const end = performance.now() + order.ms
    while (performance.now() < end);
  }
}

/** Syncs fail as those of a disk do: after having been asked for. */
async function breakSyncs(): Promise<void> {
  const file = await openFile(import.meta.filename)
  const prototype = Object.getPrototypeOf(file) as FileHandle
  await file.close()
  const { datasync } = prototype
  prototype.datasync = async function (this: FileHandle) {
    if (failingSyncs > 0) {
      failingSyncs--
      throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', errno: -5, syscall: 'fdatasync' })
    }
    await datasync.call(this)
  }
}
