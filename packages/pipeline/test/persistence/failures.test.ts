import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import { batchOf, FileSystemStorage, NotStoredError, tickHeadOf } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { metric, openTopics, QUICK, Workbench, withMethods } from './workbench.ts'

/** A file where the run's folder has to be: nothing can be written below it, whoever asks. */
function block(bench: Workbench): Disposable {
  const path = join(bench.folder.path, 'storage', RUN_ID)
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, 'in the way')
  return { [Symbol.dispose]: () => rmSync(path, { force: true, recursive: true }) }
}

/** Another process's write transaction on the topics, which does not end. */
function lockTopics(bench: Workbench): Disposable {
  const db = new DatabaseSync(join(bench.folder.path, 'topics.db'))
  db.exec('begin immediate')
  return {
    [Symbol.dispose]: () => {
      if (db.isTransaction) db.exec('rollback')
      db.close()
    },
  }
}

const ONE_LONG_RETRY = { maxRetries: 1_000, initialBackoff: '5ms', maxBackoff: '20ms' } as const

describe('a storage that fails', () => {
  it('temporarily is retried until it works', async () => {
    await using bench = await Workbench.open()
    const obstacle = block(bench)
    const service = bench.persistence({ maxBatchSize: 5, retry: ONE_LONG_RETRY })
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    await until(() => service.status().errors.length >= 3, { what: 'three failed attempts' })
    assert.match(service.status().errors[0]?.error.message ?? '', /batch_.* failed: ENOTDIR/)
    obstacle[Symbol.dispose]()
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), range(0, 5))
    assert.equal(await bench.deadLetters.count(), 0)
  })

  it('costs no batch an attempt, however long it lasts: the service waits, unhealthy, shows what for, and the source waits too', async () => {
    await using bench = await Workbench.open()
    const obstacle = block(bench)
    const service = bench.persistence({ maxBatchSize: 5, concurrentBatches: 1, retry: { maxRetries: 0 } })
    await service.start()
    await bench.put(ticksOf(range(0, 8)))
    await until(() => service.status().errors.length >= 4, { what: 'four failed attempts' })
    const { state, healthy, waitingFor } = service.status()
    assert.deepEqual([state, healthy, waitingFor], ['WAITING', false, 'the storage'])
    assert.equal(bench.queue.metrics.items, 3, 'the next ticks wait in the queue')
    obstacle[Symbol.dispose]()
    await metric(service, 'notificationsSent', 1)
    await until(() => service.state === 'RUNNING', { what: 'it to go on' })
    assert.deepEqual([service.status().healthy, service.status().errors], [true, []])
    assert.equal(await bench.deadLetters.count(), 0)
  })

  it('whose folder is missing is waited for, and nothing is created in its place', async () => {
    await using bench = await Workbench.open()
    const [root, away] = [join(bench.folder.path, 'storage'), join(bench.folder.path, 'unmounted')]
    renameSync(root, away)
    const service = bench.persistence({ maxBatchSize: 5, retry: { maxRetries: 0 } })
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    await until(() => service.status().waitingFor === 'the storage', { what: 'it to wait' })
    // What a mount that is gone leaves: an empty folder.
    mkdirSync(root)
    const tries = () => service.status().errors.length
    const before = tries()
    await until(() => tries() > before + 1, { what: 'two more tries' })
    assert.deepEqual(readdirSync(root), [])
    rmdirSync(root)
    renameSync(away, root)
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), range(0, 5))
    assert.deepEqual([service.status().metrics.deadLetters, service.status().healthy], [0, true])
  })
})

describe('a storage that refuses', () => {
  /** A storage of another kind may have reasons of its own. */
  function refusing(bench: Workbench) {
    let isRefusing = true
    const storage = withMethods(bench.storage, {
      writeBatch: async batch => {
        if (isRefusing) throw new Error('Not this batch')
        return await bench.storage.writeBatch(batch)
      },
    })
    return {
      storage,
      [Symbol.dispose]: () => {
        isRefusing = false
      },
    }
  }

  it('permanently dead-letters the batch, and the service continues with the next', async () => {
    await using bench = await Workbench.open()
    using obstacle = refusing(bench)
    const service = bench.persistence({ maxBatchSize: 5, retry: QUICK }, { storage: obstacle.storage })
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    await metric(service, 'deadLetters', 5)
    assert.equal(service.status().healthy, false)
    obstacle[Symbol.dispose]()
    await bench.put(ticksOf(range(5, 5)))
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), range(5, 5))
    assert.equal(service.status().healthy, true)
    const letters = await bench.deadLetters.list()
    assert.deepEqual(
      letters.map(({ originalMessage }) => tickHeadOf(originalMessage).tick),
      range(0, 5),
    )
    for (const { failureReason, retryCount, firstFailureAt, lastFailureAt, stackTraceLines } of letters) {
      assert.match(failureReason, /^Error: Not this batch/)
      assert.equal(retryCount, 2)
      assert.ok(firstFailureAt < lastFailureAt)
      assert.ok(stackTraceLines.length > 1)
    }
  })

  it('lets ticks of the dead letters be sent again once it works', async () => {
    await using bench = await Workbench.open()
    using obstacle = refusing(bench)
    const service = bench.persistence({ maxBatchSize: 3 }, { storage: obstacle.storage })
    await service.start()
    await bench.put(ticksOf(range(0, 3)))
    await metric(service, 'deadLetters', 3)
    obstacle[Symbol.dispose]()
    await using taken = await bench.deadLetters.take({ limit: 10 })
    for (const { letter, remove } of taken.letters) {
      await bench.queue.put({ ...tickHeadOf(letter.originalMessage), bytes: letter.originalMessage })
      await remove()
    }
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), range(0, 3))
    assert.equal(await bench.deadLetters.count(), 0)
  })

  it('does not keep a stop waiting for its backoff', async () => {
    await using bench = await Workbench.open()
    using obstacle = refusing(bench)
    const retry = { maxRetries: 5, initialBackoff: '1h', maxBackoff: '1h' } as const
    const service = bench.persistence({ maxBatchSize: 5, retry }, { storage: obstacle.storage })
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    await until(() => service.status().errors.length > 0, { what: 'a failed attempt' })
    await service.stop({ timeoutMs: 20_000 })
    assert.equal(service.state, 'STOPPED')
    assert.equal(await bench.deadLetters.count(), 5)
  })
})

describe('a stop while the storage is unavailable', () => {
  it('saves ticks in memory as dead letters at once', async () => {
    await using bench = await Workbench.open()
    using _obstacle = block(bench)
    const service = bench.persistence({ maxBatchSize: 5 })
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    await until(() => service.status().errors.length > 0, { what: 'a failed attempt' })
    await service.stop({ timeoutMs: 20_000 })
    assert.deepEqual([service.state, service.status().healthy], ['STOPPED', false])
    assert.equal(await bench.deadLetters.count(), 5)
    service.clearErrors()
    assert.deepEqual([service.status().healthy, service.status().errors], [true, []])
  })
})

describe('a disk that is full for a while', () => {
  it('costs nothing but time', test => {
    using disk = temporaryFolder()
    using folder = temporaryFolder()
    const probe = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', disk.path])
    if (probe.status !== 0) return test.skip('this machine does not let a test mount a file system')
    const script = join(import.meta.dirname, 'scripts/full-for-a-while.ts')
    const node = `${process.execPath} --conditions=tidemark-source --disable-warning=ExperimentalWarning ${script}`
    const command = `mount -t tmpfs -o size=1m tmpfs '${disk.path}' && ${node} '${disk.path}' '${folder.path}'`
    // With NODE_TEST_CONTEXT node's test runner marks its children, and this is none of them.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
    const { stdout, stderr } = spawnSync('unshare', ['-rm', 'sh', '-c', command], { encoding: 'utf8', env })
    assert.equal(stderr, '')
    assert.deepEqual(JSON.parse(stdout), { reason: 'StorageFullError', ticksWritten: 10, deadLetters: 0 })
  })
})

describe('dead letters that fail as well', () => {
  it('make the service hold the batch, unhealthy, until one of the two works', async () => {
    await using bench = await Workbench.open({ busyTimeout: '10ms' })
    const obstacle = block(bench)
    const service = bench.persistence({ maxBatchSize: 5, concurrentBatches: 1 })
    await service.start()
    const lock = lockTopics(bench)
    await bench.put(ticksOf(range(0, 8)))
    await until(() => !service.status().healthy, { what: 'the service to say so' })
    assert.equal(bench.queue.metrics.items, 3, 'the next ticks wait in the queue')
    obstacle[Symbol.dispose]()
    await metric(service, 'ticksWritten', 5)
    lock[Symbol.dispose]()
    assert.equal(service.status().healthy, true)
    await service.stop()
    assert.deepEqual(await bench.ticks(), range(0, 8))
    assert.equal(await bench.deadLetters.count(), 0)
  })

  it('make a stop fail with an error that says what is lost', async () => {
    await using bench = await Workbench.open({ busyTimeout: '10ms' })
    using _obstacle = block(bench)
    const service = bench.persistence({ maxBatchSize: 5 })
    await service.start()
    using _lock = lockTopics(bench)
    await bench.put(ticksOf(range(0, 5)))
    await until(() => !service.status().healthy, { what: 'the service to say so' })
    await service.stop()
    assert.equal(service.state, 'ERROR')
    const error = service.status().errors.at(-1)?.error
    assert.ok(error instanceof NotStoredError)
    assert.match(error.message, /^5 ticks, 0 to 4, of run .* is lost/)
  })
})

describe('a tick that no storage accepts', () => {
  it('goes to the dead letters alone, because of its size', async () => {
    await using bench = await Workbench.open()
    const storage = await FileSystemStorage.open({ root: join(bench.folder.path, 'storage'), maxTickBytes: 5_000 })
    const service = bench.persistence({ maxBatchSize: 5 }, { storage })
    await service.start()
    await bench.put([...ticksOf([0, 1]), ...ticksOf([2], { genomeBytes: 9_000 }), ...ticksOf([3, 4])])
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), [0, 1, 3, 4])
    const [letter, ...more] = await bench.deadLetters.list()
    assert.deepEqual(more, [])
    assert.match(letter?.failureReason ?? '', /LimitError: Bytes of tick 2/)
    assert.equal(letter?.retryCount, 0, 'a retry would repeat it')
  })

  it('is dead-lettered alone, because it differs from its description', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 3 })
    await service.start()
    const [first, second, third] = ticksOf([0, 1, 2])
    assert.ok(first && second && third)
    await bench.put([first, { ...second, bytes: Buffer.from('no tick at all') }, third])
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), [0, 2])
    assert.equal(await bench.deadLetters.count(), 1)
  })
})

describe('a notification that fails', () => {
  it('temporarily is retried', async () => {
    await using bench = await Workbench.open({ busyTimeout: '10ms' })
    const service = bench.persistence({ maxBatchSize: 5, notifyRetry: ONE_LONG_RETRY })
    await service.start()
    const lock = lockTopics(bench)
    await bench.put(ticksOf(range(0, 5)))
    await until(() => service.status().errors.some(({ action }) => action.startsWith('announce')), {
      what: 'a failure',
    })
    assert.deepEqual(await bench.ticks(), range(0, 5), 'the file is stored all the same')
    lock[Symbol.dispose]()
    await metric(service, 'notificationsSent', 1)
    assert.equal((await bench.announced()).length, 1)
    assert.equal(service.status().metrics.notificationsFailed, 0)
  })

  it('until the service is stopped is counted; the reconciler announces the file', async () => {
    await using bench = await Workbench.open({ busyTimeout: '10ms' })
    const service = bench.persistence({ maxBatchSize: 5, notifyRetry: { maxRetries: 0 } })
    await service.start()
    const lock = lockTopics(bench)
    await bench.put(ticksOf(range(0, 5)))
    await until(() => service.status().waitingFor === 'the topics database', { what: 'it to wait' })
    assert.equal(service.status().healthy, false)
    await service.stop()
    assert.equal(service.status().metrics.notificationsFailed, 1)
    lock[Symbol.dispose]()
    const again = bench.persistence({ maxBatchSize: 5 })
    await again.start()
    await bench.put(ticksOf(range(5, 5)))
    await metric(again, 'notificationsSent', 1)
    assert.deepEqual(
      (await bench.announced()).map(({ tickStart }) => tickStart),
      [5],
    )
    const reconciler = bench.reconciler()
    await reconciler.start()
    await metric(reconciler, 'announced', 1)
    assert.deepEqual(
      (await bench.announced()).map(({ tickStart }) => tickStart),
      [5, 0],
    )
  })

  it('because the topics are closed leaves a stored file, and dead letters are not needed', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 5 })
    await service.start()
    await bench.topics.close()
    await bench.put(ticksOf(range(0, 5)))
    await metric(service, 'notificationsFailed', 1)
    assert.deepEqual(await bench.ticks(), range(0, 5))
    assert.equal(service.state, 'RUNNING')
    await using topics = await openTopics(bench.folder.path)
    const again = bench.persistence({ maxBatchSize: 5 }, { topics })
    await again.start()
    await service.stop()
    await bench.put(ticksOf(range(5, 5)))
    await metric(again, 'notificationsSent', 1)
  })
})

describe('a storage that is written by others, too', () => {
  it('keeps the stored batch if another of the same name differs, and dead-letters that one', async () => {
    await using bench = await Workbench.open()
    /** Says that it has nothing, so that only the write finds out. */
    const storage = withMethods(bench.storage, { listBatches: async () => ({ items: [], next: null }) })
    await bench.storage.writeBatch(batchOf(ticksOf(range(0, 3), { genomeBytes: 50 })))
    const service = bench.persistence({ maxBatchSize: 3 }, { storage })
    const failures: string[] = []
    service.listen(event => event.type === 'error' && failures.push(event.action))
    await service.start()
    await bench.put(ticksOf(range(0, 3)))
    await metric(service, 'deadLetters', 3)
    assert.match((await bench.deadLetters.list())[0]?.failureReason ?? '', /ConflictError/)
    assert.equal(failures.length, 1, 'it is not tried again')
    // Nothing is wrong with the storage, and the batch is on record: nobody would ever take the failure away.
    await until(() => service.status().healthy, { what: 'it to be well' })
  })
})
