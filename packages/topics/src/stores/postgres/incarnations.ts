import { NamespaceGoneError, SubscriptionGoneError, TopicNotFoundError } from '../../errors.ts'
import type { Expected } from '../expected.ts'
import { codeOf } from './database-errors.ts'
import type { Row } from './row.ts'
import type { Statements } from './transaction.ts'

const FIND = 'select incarnation from tidemark.namespace'
const NO_TABLE = '42P01'
const NO_SCHEMA = '3F000'

/** null if the namespace does not exist now. */
export async function findIncarnation(
  statements: Pick<Statements, 'sql'>,
  query: (text: string) => Promise<{ rows: Row[] }>,
): Promise<string | null> {
  try {
    const { rows } = await query(statements.sql(FIND))
    return rows[0]?.incarnation ?? null
  } catch (error) {
    if ([NO_TABLE, NO_SCHEMA].includes(codeOf(error))) return null
    throw error
  }
}

type Located = Pick<Statements, 'location' | 'schema'>

/** Read at open, after the migrations. */
export async function readIncarnation(statements: Statements): Promise<string> {
  const [row] = await statements.query(statements.sql(FIND))
  if (typeof row?.incarnation !== 'string') throw goneError(statements, null)
  return row.incarnation
}

/** One statement without parameters, so that it can be sent with the `begin`. All numbers are our own. */
export function expectedText({ topic, subscription }: Expected): string {
  const isTopic = topic && `exists (select from tidemark.topic where id = ${topic.id} and uid = ${topic.uid})`
  const isGroup =
    subscription &&
    `exists (select from tidemark.subscription where id = ${subscription.id} and uid = ${subscription.uid})`
  return `select (${FIND}) as incarnation, ${isTopic ?? true} as is_topic, ${isGroup ?? true} as is_group`
}

/** Checks the row of that statement, in the right namespace. */
export function requireRecords({ topic, subscription }: Expected, row: Row | undefined): void {
  if (topic && row?.is_topic !== 't') throw new TopicNotFoundError(topic.name)
  if (subscription && row?.is_group !== 't') throw new SubscriptionGoneError(topic?.name ?? '', subscription.group)
}

export const goneError = ({ location, schema }: Located, found: string | null) =>
  new NamespaceGoneError(`${location} (schema ${schema})`, found === null ? 'dropped' : 'dropped and made again')
