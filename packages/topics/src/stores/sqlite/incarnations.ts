import { NamespaceGoneError, SubscriptionGoneError, TopicNotFoundError } from '../../errors.ts'
import type { Expected } from '../expected.ts'
import { rowOf } from './rows.ts'
import { isBusy } from './sqlite-errors.ts'
import type { Prepare } from './transaction.ts'

/** undefined if the namespace does not exist now. */
export function findIncarnation(prepare: Prepare): number | undefined {
  try {
    // Runs in every transaction, so it is read in the cheapest way (0.5 µs).
    const statement = prepare('select incarnation from tidemark_namespace')
    statement.setReturnArrays(true)
    const [incarnation] = (statement.get() as unknown as [number] | undefined) ?? []
    return incarnation
  } catch (error) {
    if (isBusy(error) || !isMissing(error)) throw error
    return undefined
  }
}

export const goneError = (path: string, found: number | undefined): NamespaceGoneError =>
  new NamespaceGoneError(path, found === undefined ? 'dropped' : 'dropped and made again')

/** Refuses records of another incarnation. Call it in the transaction that relies on them. */
export function requireRecords(prepare: Prepare, { topic, subscription }: Expected): void {
  const isTopic =
    topic === undefined ||
    rowOf(prepare('select 1 from tidemark_topic where id = ? and uid = ?'), topic.id, topic.uid) !== undefined
  if (topic !== undefined && !isTopic) throw new TopicNotFoundError(topic.name)
  if (subscription === undefined) return
  const { id, uid, group } = subscription
  if (rowOf(prepare('select 1 from tidemark_subscription where id = ? and uid = ?'), id, uid) === undefined) {
    throw new SubscriptionGoneError(topic?.name ?? '', group)
  }
}

/** SQLite has no error code for a missing table. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  /no such table: tidemark_namespace/.test(`${error.message} ${(error.cause as Error)?.message}`)
