/** Publishes in every way there is: one by one, concurrently, in batches, with its own messageId, in its own transaction. */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { MessageIdPendingError, OutcomeUnknownError, type PublishedRef, type Tidemark } from 'tidemark'
import { type Payload, topicsOf } from '../world.ts'
import {
  codeOf,
  given,
  isPassing,
  journal,
  nameOf,
  nextCall,
  pause,
  phaseOf,
  random,
  runWorker,
  stopping,
} from './worker.ts'

/** Waiting messages of a group at which the publisher waits, so that the end is quickly drained. */
const LONGEST_BACKLOG = 200
const BAD_ONE_IN = 60
const LONGEST_PAUSE_MS = 60
const LONGEST_TRANSACTION_MS = 250

/** Nothing was stored. */
class RolledBack extends Error {}

let round = 0

await runWorker(async tm => {
  while (!stopping.signal.aborted) {
    round++
    const topic = random.pick(Object.keys(topicsOf(given.namespace)))
    if (round % 10 === 0) await backlogToShrink(tm)
    await publishRound(tm, topic)
    await pause(random.below(LONGEST_PAUSE_MS))
  }
})

async function publishRound(tm: Tidemark, topic: string): Promise<void> {
  const count = 1 + random.below(8)
  const way = random.next()
  if (way < 0.25) await publishBatch(tm, topic, count)
  else if (way < 0.45) await publishInTransaction(tm, topic, count)
  else await Promise.all(Array.from({ length: count }, () => publishOne(tm, topic, random.chance(0.4))))
}

async function publishOne(tm: Tidemark, topic: string, isNamed: boolean): Promise<void> {
  const [key = ''] = newKeys(1)
  const messageId = isNamed ? randomUUID() : undefined
  const publish = async () => [await tm.publish(topic, payloadOf(key), messageId === undefined ? {} : { messageId })]
  const answered = await noted(topic, [key], publish, messageId)
  // With a messageId of its own, a publish may be repeated until its outcome is known.
  for (let tries = 0; !answered && messageId !== undefined && tries < 3; tries++) {
    await pause(50)
    if (await noted(topic, [key], publish, messageId)) return
  }
}

async function publishBatch(tm: Tidemark, topic: string, count: number): Promise<void> {
  const keys = newKeys(count)
  await noted(topic, keys, () => tm.publishBatch(topic, keys.map(payloadOf)))
}

/** Other transactions begin and commit while this one is open, and every fifth is rolled back. */
async function publishInTransaction(tm: Tidemark, topic: string, count: number): Promise<void> {
  const keys = newKeys(count)
  const isKept = !random.chance(0.2)
  const ms = random.below(LONGEST_TRANSACTION_MS)
  if (given.engine === 'jetstream') return await publishBatch(tm, topic, count)
  const transact = given.engine === 'postgres' ? transactOnPostgres : transactOnSqlite
  await noted(topic, keys, () => transact(tm, topic, keys, { isKept, ms }))
}

type Transaction = { readonly isKept: boolean; readonly ms: number }

async function transactOnPostgres(tm: Tidemark, topic: string, keys: string[], { isKept, ms }: Transaction) {
  const client = new pg.Client({ connectionString: given.url, connectionTimeoutMillis: 3_000, query_timeout: 5_000 })
  client.on('error', () => {}) // The query that it interrupts tells the same.
  let isCommitting = false
  try {
    await client.connect()
    await client.query('begin')
    const refs = await tm.publishBatch(topic, keys.map(payloadOf), { tx: client })
    await delay(ms)
    if (!isKept) throw new RolledBack()
    isCommitting = true
    await client.query('commit')
    return refs
  } catch (error) {
    if (isCommitting) throw OutcomeUnknownError.afterLostConnection('the publisher', error)
    // Before the commit nothing is stored, whatever went wrong.
    throw error instanceof RolledBack ? error : new RolledBack(codeOf(error))
  } finally {
    // A goodbye to a silent connection would keep this process alive for ever.
    ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  }
}

/** The one writer: other processes wait for it, so it is short. */
async function transactOnSqlite(tm: Tidemark, topic: string, keys: string[], { isKept }: Transaction) {
  const path = given.url.slice('sqlite:'.length)
  const file = given.namespace === 'default' ? path : path.replace(/\.db$/, `.${given.namespace}.db`)
  const database = new DatabaseSync(file, { timeout: 1_000 })
  let isCommitting = false
  try {
    database.exec('begin immediate')
    const refs: PublishedRef[] = keys.map(key => tm.publishSync(topic, payloadOf(key), { tx: database }))
    if (!isKept) throw new RolledBack()
    isCommitting = true
    database.exec('commit')
    return refs
  } catch (error) {
    if (isCommitting) throw OutcomeUnknownError.afterLostConnection('the publisher', error)
    throw error instanceof RolledBack ? error : new RolledBack(codeOf(error))
  } finally {
    database.close()
  }
}

/** Whether its outcome is known. */
async function noted(
  topic: string,
  keys: readonly string[],
  publish: () => Promise<PublishedRef[]>,
  ownId?: string,
): Promise<boolean> {
  const entry = { what: 'publish', call: nextCall(), topic: nameOf(topic), keys, round } as const
  journal.write({ ...entry, phase: 'invoked', ...(ownId !== undefined && { messageIds: [ownId] }) })
  try {
    const refs = await publish()
    journal.write({ ...entry, phase: 'ok', messageIds: refs.map(({ messageId }) => messageId) })
    return true
  } catch (error) {
    const phase = phaseOf(error)
    journal.write({ ...entry, phase, error: codeOf(error) })
    if (!isPassing(error) && !(error instanceof RolledBack) && !(error instanceof MessageIdPendingError)) throw error
    return phase !== 'unknown'
  }
}

function newKeys(count: number): string[] {
  return Array.from({ length: count }, () => `${random.chance(1 / BAD_ONE_IN) ? 'bad' : 'good'}-${randomUUID()}`)
}

function payloadOf(key: string): Payload {
  return { key, text: key.repeat(3) }
}

async function backlogToShrink(tm: Tidemark): Promise<void> {
  while (!stopping.signal.aborted) {
    try {
      const topics = await Promise.all(
        Object.keys(topicsOf(given.namespace)).map(topic => tm.admin.describeTopic(topic)),
      )
      const worst = Math.max(0, ...topics.flatMap(({ groups }) => groups.map(({ backlog }) => backlog)))
      if (worst < LONGEST_BACKLOG) return
    } catch (error) {
      if (!isPassing(error)) throw error
    }
    await pause(50)
  }
}
