import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  dropIndex,
  IndexLockedError,
  IndexNotFoundError,
  IndexVersionError,
  InvalidRunIdError,
  listIndexedRuns,
  makeRunId,
  NestedTransactionError,
  openIndex,
} from '@tidemark/pipeline'
import { ClosedError, ConfigError } from 'tidemark'
import { spawnScript } from '../../../../testing/processes.ts'
import { ENGINES, executePostgres } from '../engines.ts'
import { openLedger } from '../ledger/batches.ts'

const script = new URL('scripts/open-index.ts', import.meta.url)

for (const engine of ENGINES) {
  const mark = engine.name === 'SQLite' ? ['', '?1'] : ['run.', '$1']
  const insert = `insert into ${mark[0]}processed_key (scope, item_key, marked_at) values ('test', ${mark[1]}, 1)`
  const select = `select item_key as key from ${mark[0]}processed_key order by item_key`

  describe(`an index on ${engine.name}`, () => {
    it('is opened by many processes at once, and created by one of them', async () => {
      await using place = await engine.fresh()
      await using stack = new AsyncDisposableStack()
      const scripts = [1, 2, 3, 4].map(() => stack.use(spawnScript(script, [place.address, place.runId])))
      const outcomes = await Promise.all(scripts.map(each => each.waitForLine('{')))
      assert.deepEqual(
        outcomes.map(line => JSON.parse(line)),
        Array(4).fill({ opened: true }),
      )
      await Promise.all(Array.from({ length: 4 }, () => place.open()))
      const versions = await place.execute('select version from run.index_migration order by version')
      assert.deepEqual(
        versions.map(({ version }) => version),
        [1],
      )
    })

    it('written by a newer version is refused', async () => {
      await using place = await engine.fresh()
      await (await place.open()).close()
      await place.execute('insert into run.index_migration (version, applied_at) values (999, 1)')
      await assert.rejects(place.open(), (error: unknown) => {
        assert.ok(error instanceof IndexVersionError)
        assert.match(error.message, /newer version.*999.*Update/s)
        return true
      })
    })

    it('that does not exist is not created if it must exist', async () => {
      await using place = await engine.fresh()
      await assert.rejects(place.open({ create: false }), (error: unknown) => {
        assert.ok(error instanceof IndexNotFoundError)
        assert.equal(error.runId, place.runId)
        return true
      })
      assert.deepEqual(await listIndexedRuns(place.address), [])
      await place.open()
      await place.open({ create: false })
    })

    it('is listed, oldest run first, and dropped alone', async () => {
      await using place = await engine.fresh()
      const runs = [2, 1, 3].map(day => makeRunId(Date.UTC(2026, 0, day)))
      for (const run of runs) await (await place.open({}, run)).close()
      await strangersAt(place.address)
      const [second = '', first = '', third = ''] = runs
      assert.deepEqual(await listIndexedRuns(place.address), [first, second, third])
      assert.equal(await dropIndex(place.address, second), true)
      assert.equal(await dropIndex(place.address, second), false)
      assert.deepEqual(await listIndexedRuns(place.address), [first, third])
      await assert.rejects(openIndex(place.address, second, { create: false }), IndexNotFoundError)
    })

    it('of one run does not contain another', async () => {
      await using place = await engine.fresh()
      const [one, other] = [await place.open(), await place.open({}, makeRunId(1))]
      await one.idempotency.markProcessed('a', 'b')
      assert.equal(await other.idempotency.isProcessed('a', 'b'), false)
    })

    it('refuses an invalid run id everywhere', async () => {
      await using place = await engine.fresh()
      for (const id of ['', '../x', 'run"; drop schema public; --', `${place.runId}/..`, `${place.runId}\n`]) {
        await assert.rejects(openIndex(place.address, id), InvalidRunIdError)
        await assert.rejects(dropIndex(place.address, id), InvalidRunIdError)
      }
    })

    it('can be closed twice, waits for running statements, and refuses work afterwards', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const running = database.transaction(tx => tx.run(insert, 'late'))
      await Promise.all([database.close(), database.close()])
      assert.equal(await running, 1)
      await database.close()
      await assert.rejects(database.read(select), ClosedError)
      await assert.rejects(
        database.transaction(async () => 1),
        ClosedError,
      )
      assert.equal(await (await place.open()).idempotency.isProcessed('test', 'late'), true)
    })
  })

  describe(`a transaction on ${engine.name}`, () => {
    it('is atomic', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await database.transaction(async tx => {
        await tx.run(insert, 'a')
        await tx.run(insert, 'b')
      })
      const own = new RangeError("the work's own")
      const torn = database.transaction(async tx => {
        await tx.run(insert, 'c')
        throw own
      })
      await assert.rejects(torn, error => error === own)
      await assert.rejects(
        database.transaction(tx => tx.run(insert, 'a')),
        { code: 'TIDEMARK_INDEX_DATABASE' },
      )
      const keys = (await database.read<{ key: string }>(select)).map(({ key }) => key)
      assert.deepEqual(keys, ['a', 'b'])
    })

    it('is not seen by readers before it commits, and does not mix with another', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const [written, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const first = database.transaction(async tx => {
        await tx.run(insert, 'first')
        written.resolve()
        await seen.promise
        throw new Error('undone')
      })
      await written.promise
      const keysMeanwhile = await database.read(select)
      const second = database.transaction(tx => tx.run(insert, 'second'))
      seen.resolve()
      await assert.rejects(first, /undone/)
      await second
      assert.deepEqual(keysMeanwhile, [])
      const keys = (await database.read<{ key: string }>(select)).map(({ key }) => key)
      assert.deepEqual(keys, ['second'])
    })

    it('inside another is refused instead of deadlocking', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const ledger = await openLedger(database)
      const nested = database.transaction(() => ledger.recordProcessed({ tickStart: 0, tickEnd: 10 }))
      await assert.rejects(nested, NestedTransactionError)
      // What a transaction leaves running may begin another when it is over.
      const later = await database.transaction(async () => {
        const { promise, resolve } = Promise.withResolvers<number>()
        setTimeout(() => resolve(database.transaction(tx => tx.run(insert, 'later'))), 10)
        return { promise }
      })
      assert.equal(await later.promise, 1)
    })

    it('cannot be used after its end', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const ended = await database.transaction(async tx => ({ tx }))
      await assert.rejects(ended.tx.run(insert, 'x'), ClosedError)
    })

    it('returns numbers, bytes and booleans unchanged', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const values = engine.name === 'SQLite' ? 'select ?1 as a, ?2 as b' : 'select $1::bigint as a, $2::bytea as b'
      const [row] = await database.read<{ a: number; b: Uint8Array }>(
        values,
        Number.MAX_SAFE_INTEGER,
        new Uint8Array([0, 255]),
      )
      assert.equal(row?.a, Number.MAX_SAFE_INTEGER)
      assert.deepEqual([...(row?.b ?? [])], [0, 255])
    })
  })
}

describe('an address', () => {
  it('that is neither SQLite nor PostgreSQL is refused, without being shown', async () => {
    for (const address of ['mysql://me:s3cret@host/x', 'sqlite:', 'sqlite::memory:', '', 'postgres:me:s3cret']) {
      await assert.rejects(openIndex(address, makeRunId()), (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.doesNotMatch(error.message, /s3cret/)
        return true
      })
    }
  })

  it('comes with options that are checked', async () => {
    await using place = await (ENGINES[0] ?? assert.fail()).fresh()
    for (const options of [
      { busyTimeout: 'soon' },
      { durability: 'none' },
      { poolSize: 0 },
      { create: 1 },
      { pool: 1 },
    ]) {
      await assert.rejects(openIndex(place.address, place.runId, options as object), ConfigError)
    }
  })
})

describe('a SQLite index that is open elsewhere', () => {
  it('is not dropped', async () => {
    await using place = await (ENGINES[0] ?? assert.fail()).fresh()
    const database = await place.open()
    await database.idempotency.markProcessed('a', 'b')
    await assert.rejects(dropIndex(place.address, place.runId, { busyTimeout: 20 }), IndexLockedError)
    assert.equal(await database.idempotency.isProcessed('a', 'b'), true)
    await database.close()
    assert.equal(await dropIndex(place.address, place.runId), true)
    assert.deepEqual(readdirSync(place.address.slice('sqlite:'.length)), [])
  })
})

/** Things beside the indexes that are none. */
async function strangersAt(address: string): Promise<void> {
  if (!address.startsWith('sqlite:')) {
    await executePostgres(address, 'create schema run_forest; create schema run_20260101_00000000_not_ours')
    return
  }
  const folder = address.slice('sqlite:'.length)
  assert.ok(existsSync(folder))
  for (const name of ['notes.txt', 'run_forest.db', 'other.db']) writeFileSync(`${folder}/${name}`, '')
}
