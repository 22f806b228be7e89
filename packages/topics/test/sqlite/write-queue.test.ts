import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { DatabaseLockedError } from '../../src/errors.ts'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import { requiredRow } from '../../src/stores/sqlite/rows.ts'

async function connect(path: string, busyTimeoutMs = 5_000): Promise<Connection> {
  const connection = new Connection({ path, durability: 'process', busyTimeoutMs })
  await connection.prepareForUse()
  return connection
}

async function prepare(connection: Connection): Promise<void> {
  await connection.write(false, () => connection.exec('create table entry (name text primary key)'))
}

const add = (connection: Connection, name: string) => (): string => {
  connection.prepare('insert into entry values (?)').run(name)
  return name
}

const names = (connection: Connection): string =>
  requiredRow<{ names: string | null }>(
    connection.prepare("select group_concat(name, ' ' order by name) as names from entry"),
  ).names ?? ''

test('writes of one turn share a transaction, in order, and each gets its own result', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'shared.db')
  const connection = await connect(path)
  await prepare(connection)
  const watcher = new DatabaseSync(path)
  const seen: string[] = []
  /** What another connection sees while this body runs: what was committed before. */
  const look = (name: string) => (): string => {
    seen.push(`${name} after ${watcher.prepare('select count(*) as count from entry').get()?.count}`)
    return add(connection, name)()
  }
  const results = await Promise.all(['a', 'b', 'c'].map(name => connection.write(false, look(name))))
  assert.deepEqual(results, ['a', 'b', 'c'])
  assert.deepEqual(seen, ['a after 0', 'b after 0', 'c after 0'])
  assert.equal(await connection.write(false, look('d')), 'd')
  assert.equal(seen.at(-1), 'd after 3')
  watcher.close()
  await connection.close()
})

test('a body that throws does not affect the others, and leaves nothing behind', async () => {
  using folder = temporaryFolder()
  const connection = await connect(join(folder.path, 'failing.db'))
  await prepare(connection)
  const wrong = (name: string) => (): string => {
    add(connection, name)()
    throw new Error(`${name} is wrong`)
  }
  const bodies = [add(connection, 'a'), wrong('b'), add(connection, 'c'), wrong('d'), add(connection, 'e')]
  const outcomes = await Promise.allSettled(bodies.map(body => connection.write(false, body)))
  const told = outcomes.map(each => (each.status === 'fulfilled' ? each.value : String(each.reason.message)))
  assert.deepEqual(told, ['a', 'b is wrong', 'c', 'd is wrong', 'e'])
  assert.equal(names(connection), 'a c e')
  await connection.close()
})

test('a database that stays locked refuses all waiting writes after one timeout', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'locked.db')
  const connection = await connect(path, 20)
  await prepare(connection)
  const other = new DatabaseSync(path)
  other.exec('begin immediate')
  const bodies = ['a', 'b', 'c'].map(name => connection.write(false, add(connection, name)))
  const outcomes = await Promise.allSettled(bodies)
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof DatabaseLockedError)
  }
  const [first, ...rest] = outcomes.map(each => each.status === 'rejected' && each.reason)
  assert.ok(
    rest.every(reason => reason === first),
    'they waited once, together',
  )
  other.exec('rollback')
  other.close()
  assert.equal(await connection.write(false, add(connection, 'd')), 'd')
  assert.equal(names(connection), 'd')
  await connection.close()
})

test('if the commit fails, nobody is told that it was stored', async () => {
  using folder = temporaryFolder()
  const connection = await connect(join(folder.path, 'uncommitted.db'))
  await prepare(connection)
  const undo = (): void => connection.exec('rollback')
  const bodies = [add(connection, 'a'), add(connection, 'b'), undo]
  const outcomes = await Promise.allSettled(bodies.map(body => connection.write<unknown>(false, body)))
  assert.deepEqual(
    outcomes.map(each => each.status),
    ['rejected', 'rejected', 'rejected'],
  )
  assert.equal(names(connection), '')
  await connection.close()
})

test('closing waits for the writes that were asked for', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'closing.db')
  const connection = await connect(path)
  await prepare(connection)
  const written = connection.write(true, add(connection, 'a'))
  const closed = connection.close()
  assert.equal(await written, 'a')
  await closed
  const reader = new DatabaseSync(path)
  assert.deepEqual({ ...reader.prepare('select name from entry').get() }, { name: 'a' })
  reader.close()
})
