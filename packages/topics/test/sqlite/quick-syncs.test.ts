import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { interceptSyncs, type SyncKind, syncFailure } from '../../../../testing/syncs.ts'
import { WalSync } from '../../src/stores/sqlite/wal-sync.ts'

type Bench = AsyncDisposable & {
  readonly wal: WalSync
  /** Of every sync, also of those that fail. */
  readonly kinds: SyncKind[]
  fail: boolean
  flush(times: number): Promise<void>
}

/** The WAL of a real database. How long a sync takes is the machine's business, so `quickMs` decides what is quick. */
async function bench(options: { quickMs: number }): Promise<Bench> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  const db = new DatabaseSync(path)
  db.exec('pragma journal_mode = wal; create table t (x); insert into t values (1)')
  const frames = async (): Promise<number> => Number(db.prepare('pragma wal_checkpoint(noop)').get()?.log)
  const wal = new WalSync({
    path: `${path}-wal`,
    folders: [],
    frames,
    locked: async body => body(),
    get quickMs() {
      return options.quickMs
    },
  })
  const kinds: SyncKind[] = []
  const syncs = await interceptSyncs(kind => {
    kinds.push(kind)
    if (bed.fail) throw syncFailure()
  })
  const bed = {
    wal,
    kinds,
    fail: false,
    async flush(times: number) {
      for (let flushed = 0; flushed < times; flushed++) await wal.flush()
    },
    async [Symbol.asyncDispose]() {
      syncs[Symbol.dispose]()
      await wal.close()
      db.close()
      folder[Symbol.dispose]()
    },
  }
  return bed
}

const background = (count: number): SyncKind[] => new Array<SyncKind>(count).fill('background')

describe('a sync of the WAL', () => {
  it('is made on this thread once twenty in a row were quick', async () => {
    await using bed = await bench({ quickMs: Number.POSITIVE_INFINITY })
    await bed.flush(22)
    assert.deepEqual(bed.kinds, [...background(20), 'direct', 'direct'])
  })

  it('stays in the background where syncs are slow', async () => {
    await using bed = await bench({ quickMs: 0 })
    await bed.flush(30)
    assert.deepEqual(bed.kinds, background(30))
  })

  it('is in the background again after a slow one', async () => {
    const options = { quickMs: Number.POSITIVE_INFINITY }
    await using bed = await bench(options)
    await bed.flush(21)
    options.quickMs = 0
    await bed.flush(1)
    options.quickMs = Number.POSITIVE_INFINITY
    await bed.flush(1)
    assert.deepEqual(bed.kinds.slice(20), ['direct', 'direct', 'background'])
  })

  it('that fails on this thread is not trusted, and the next ones are made in the background', async () => {
    await using bed = await bench({ quickMs: Number.POSITIVE_INFINITY })
    await bed.flush(20)
    bed.fail = true
    await assert.rejects(bed.wal.flush(), /EIO/)
    assert.equal(bed.wal.isSuspect, true)
    bed.fail = false
    await bed.flush(2)
    assert.equal(bed.wal.isSuspect, false)
    assert.deepEqual(bed.kinds.slice(20), ['direct', 'background', 'background'])
  })
})
