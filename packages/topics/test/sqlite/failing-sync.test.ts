import assert from 'node:assert/strict'
import { type FileHandle, open as openFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ClosedError, type OpenOptions, OutcomeUnknownError, open, SyncError, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { range, soon } from '../../src/conformance/consuming.ts'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import { SILENT } from '../conformance/stores.ts'

type Syncs = Disposable & {
  /** How many of the next fail; the others are really done. */
  fail: number
  /** What they wait for before anything else. */
  hang: Promise<void> | undefined
  /** Those of which the file was told to go to the disk, by the handle's number. */
  readonly done: readonly number[]
}

/** Lets syncs of this process fail as a disk's do, after having been asked for. */
async function failingSyncs(): Promise<Syncs> {
  const file = await openFile(import.meta.filename)
  const prototype = Object.getPrototypeOf(file) as FileHandle
  await file.close()
  const { datasync } = prototype
  const done: number[] = []
  const syncs: Syncs = {
    fail: 0,
    hang: undefined,
    done,
    [Symbol.dispose]: () => {
      prototype.datasync = datasync
    },
  }
  prototype.datasync = async function (this: FileHandle) {
    await syncs.hang
    if (syncs.fail > 0) {
      syncs.fail--
      throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', errno: -5, syscall: 'fdatasync' })
    }
    await datasync.call(this)
    done.push(this.fd)
  }
  return syncs
}

type Bench = AsyncDisposable & { tm: Tidemark; syncs: Syncs; path: string }

async function bench(options: OpenOptions = {}): Promise<Bench> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'deep', 'down', 'app.db')
  const tm = await open(`sqlite:${path}`, { logger: SILENT, maintenance: false, ...options })
  await tm.configureTopic('work')
  await tm.configureTopic('other')
  const syncs = await failingSyncs()
  return {
    tm,
    syncs,
    path,
    async [Symbol.asyncDispose]() {
      syncs[Symbol.dispose]()
      await tm.close()
      folder[Symbol.dispose]()
    },
  }
}

async function everything(tm: Tidemark, topic = 'work'): Promise<unknown[]> {
  const reader = tm.reader(topic)
  const payloads: unknown[] = []
  for (;;) {
    const delivery = await reader.poll(0)
    if (delivery === null) break
    payloads.push(delivery.payload)
    await delivery.ack()
  }
  await reader.close()
  return payloads
}

const codesOf = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  outcomes.map(each => (each.status === 'rejected' ? each.reason.code : 'resolved'))

/** A file with one table. */
async function openConnection(): Promise<AsyncDisposable & { connection: Connection; syncs: Syncs; path: string }> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  const connection = new Connection({ path, durability: 'full', busyTimeoutMs: 100 })
  await connection.prepareForUse()
  await connection.write(true, tx => tx.exec('create table stored (number integer)'))
  const syncs = await failingSyncs()
  return {
    connection,
    syncs,
    path,
    async [Symbol.asyncDispose]() {
      syncs[Symbol.dispose]()
      await connection.close()
      folder[Symbol.dispose]()
    },
  }
}

const store = (connection: Connection, number: number): Promise<void> =>
  connection.write(true, tx => tx.exec(`insert into stored values (${number})`))

async function storedIn(path: string): Promise<unknown[]> {
  const connection = new Connection({ path, durability: 'full', busyTimeoutMs: 100 })
  const rows = await connection.read(tx => tx.prepare('select number from stored order by number').all())
  await connection.close()
  return rows.map(row => (row as { number: number }).number)
}

describe('closing', () => {
  it('does not wait for a disk that hangs, and says that the outcome is unknown', async () => {
    await using bed = await openConnection()
    const { connection, syncs, path } = bed
    const hang = Promise.withResolvers<void>()
    syncs.hang = hang.promise
    const outcome = store(connection, 1).catch((error: unknown) => error)
    await connection.close(20)
    const error = await outcome
    assert.ok(error instanceof OutcomeUnknownError, String(error))
    assert.match(error.message, /not yet synced.*may or may not be stored/)
    await assert.rejects(store(connection, 2), ClosedError)
    hang.resolve()
    await connection.close()
    assert.deepEqual(await storedIn(path), [1])
  })

  it('stores nothing while its handle is being closed', async () => {
    await using bed = await openConnection()
    const { connection, syncs, path } = bed
    syncs.fail = 1
    await assert.rejects(store(connection, 1), OutcomeUnknownError)
    const hang = Promise.withResolvers<void>()
    syncs.hang = hang.promise
    // Both wait until the log can be trusted again.
    const waiting = store(connection, 2).then(
      () => 'stored',
      (error: unknown) => (error instanceof ClosedError ? 'closed' : error),
    )
    const closed = connection.close()
    hang.resolve()
    await closed
    const told = await waiting
    assert.ok(told === 'closed' || told === 'stored', String(told))
    assert.deepEqual(await storedIn(path), told === 'stored' ? [1, 2] : [1])
  })

  it('refuses what waits for another process when the time is up', async () => {
    await using bed = await openConnection()
    const other = new Connection({ path: bed.path, durability: 'full', busyTimeoutMs: 100 })
    other.exec('begin immediate')
    const waiting = assert.rejects(store(bed.connection, 1), ClosedError)
    await bed.connection.close(20)
    await waiting
    other.exec('rollback')
    await other.close()
    assert.deepEqual(await storedIn(bed.path), [])
  })
})

describe('a sync that fails after the commit', () => {
  it('makes the outcome of publishes unknown, reports it, and stores none of them twice', async () => {
    await using bed = await bench()
    const { tm, syncs } = bed
    syncs.fail = 1
    const outcomes = await Promise.allSettled(range(1, 10).map(number => tm.publish('work', number)))
    assert.deepEqual(codesOf(outcomes), new Array(10).fill('TIDEMARK_OUTCOME_UNKNOWN'))
    const [first] = outcomes
    assert.ok(first?.status === 'rejected' && first.reason instanceof OutcomeUnknownError)
    assert.match(first.reason.message, /may or may not be stored.*messageId/)
    assert.doesNotMatch(first.reason.message, /nothing was stored/)
    assert.deepEqual(await everything(tm), range(1, 10))
  })

  it('lets a publish with a messageId be repeated', async () => {
    await using bed = await bench()
    const { tm, syncs } = bed
    syncs.fail = 1
    await assert.rejects(tm.publish('work', 'once', { messageId: 'm' }), OutcomeUnknownError)
    assert.equal((await tm.publish('work', 'once', { messageId: 'm' })).duplicate, true)
    assert.deepEqual(await everything(tm), ['once'])
  })

  it('promises nothing more before the WAL was rewritten and synced on a new handle', async () => {
    await using bed = await bench()
    const { tm, syncs, path } = bed
    await tm.publish('work', 'before')
    const [before] = syncs.done
    syncs.fail = 1
    await assert.rejects(tm.publish('work', 'unknown'), OutcomeUnknownError)
    const log = await readFile(`${path}-wal`)
    await tm.publish('work', 'after')
    const [renewed] = syncs.done.slice(1)
    assert.ok(renewed !== undefined && renewed !== before, 'the handle that failed is not trusted again')
    assert.ok((await readFile(`${path}-wal`)).subarray(0, log.length).equals(log), 'the log is what it was')
    assert.deepEqual(await everything(tm), ['before', 'unknown', 'after'])
  })

  it('covers what was committed while it failed', async () => {
    await using bed = await bench()
    const { tm, syncs } = bed
    syncs.fail = 1
    const failed = tm.publish('work', 1)
    const later = tm.publish('other', 2)
    const outcomes = await Promise.allSettled([failed, later])
    assert.ok(codesOf(outcomes).includes('TIDEMARK_OUTCOME_UNKNOWN'))
    assert.deepEqual([...(await everything(tm)), ...(await everything(tm, 'other'))], [1, 2])
  })

  it('stores nothing more while it keeps failing, and reports it', async () => {
    await using bed = await bench()
    const { tm, syncs } = bed
    syncs.fail = Number.POSITIVE_INFINITY
    await assert.rejects(tm.publish('work', 'unknown'), OutcomeUnknownError)
    await assert.rejects(tm.publish('work', 'refused'), error => error instanceof SyncError)
    const refused = await Promise.allSettled(range(1, 5).map(number => tm.publish('work', number)))
    assert.deepEqual(codesOf(refused), new Array(5).fill('TIDEMARK_SYNC'))
    syncs.fail = 0
    await tm.publish('work', 'works again')
    assert.deepEqual(await everything(tm), ['unknown', 'works again'])
  })

  it('notices if the system has dropped what it could not write', async () => {
    await using bed = await bench()
    const { tm, syncs, path } = bed
    syncs.fail = 1
    await assert.rejects(tm.publish('work', 'unknown'), OutcomeUnknownError)
    const log = await openFile(`${path}-wal`, 'r+')
    const { size } = await log.stat()
    const frame = Buffer.alloc(512)
    await log.read(frame, 0, 512, size - 1024)
    await log.write(Buffer.alloc(512, 7), 0, 512, size - 1024)
    await assert.rejects(tm.publish('work', 'refused'), /has lost a part of .*-wal/)
    await log.write(frame, 0, 512, size - 1024)
    await log.close()
    await tm.publish('work', 'works again')
    assert.deepEqual(await everything(tm), ['unknown', 'works again'])
  })

  it('settles again by itself, once, and then reports that it is stored', async () => {
    await using bed = await bench()
    const { tm, syncs } = bed
    await tm.publishBatch('work', ['acked', 'nacked'])
    const reader = tm.reader('work', { batchSize: 2 })
    const [acked, nacked] = [await reader.receive(), await reader.receive()]
    syncs.fail = 1
    await soon(Promise.all([acked.ack(), nacked.nack('not now', { delay: 0 })]), 'the settlement')
    const again = await reader.receive()
    assert.deepEqual([again.payload, again.attempt], ['nacked', 2])
    await again.ack()
    assert.equal(await reader.poll(0), null)
  })

  it('says of an ack that it may be stored, if the disk stays unavailable', async () => {
    await using bed = await bench()
    const { tm, syncs } = bed
    await tm.publish('work', 'acked')
    const delivery = await tm.reader('work').receive()
    syncs.fail = Number.POSITIVE_INFINITY
    await assert.rejects(delivery.ack(), OutcomeUnknownError)
    syncs.fail = 0
    await until(async () => (await tm.admin.describeTopic('work')).groups[0]?.inFlight === 0, { what: 'the ack' })
  })

  it('says so of other calls too, which can be repeated', async () => {
    await using bed = await bench()
    const { tm, syncs } = bed
    syncs.fail = 1
    await assert.rejects(tm.configureTopic('new', { semantics: 'pub-sub' }), OutcomeUnknownError)
    await tm.configureTopic('new', { semantics: 'pub-sub' })
    const group = tm.consumerGroup('new', 'group')
    const seen: unknown[] = []
    group.addConsumer('one', delivery => seen.push(delivery.payload))
    syncs.fail = 1
    await assert.rejects(group.start(), OutcomeUnknownError)
    await group.start()
    await tm.publish('new', 1)
    await until(() => seen.length === 1, { what: 'the message' })
    assert.equal((await tm.admin.groups('new')).length, 1)
  })

  it('keeps what was acknowledged before, and what was unknown, for the next process that opens the file', async () => {
    await using bed = await bench()
    const { tm, syncs, path } = bed
    await tm.publish('work', 'acknowledged')
    syncs.fail = 1
    await assert.rejects(tm.publish('work', 'unknown'), OutcomeUnknownError)
    await tm.close()
    await using next = await open(`sqlite:${path}`, { logger: SILENT })
    assert.deepEqual(await everything(next), ['acknowledged', 'unknown'])
  })
})
