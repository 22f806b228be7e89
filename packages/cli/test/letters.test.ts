import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  BatchLedger,
  batchOf,
  contractsRegistry,
  type DeadLetter,
  DeadLetterQueue,
  FileSystemStorage,
  openIndex,
} from '@tidemark/pipeline'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
import { RUN_ID } from '../../pipeline/test/arbitraries.ts'
import { range, ticksOf } from '../../pipeline/test/storage/ticks.ts'
import { EXIT } from '../src/exit-codes.ts'
import { tidemark, tidemarkJson } from './command.ts'

const letter = (originalMessage: Uint8Array, failureReason: string): DeadLetter => ({
  originalMessage,
  messageType: 'tidemark.pipeline.v1.TickData',
  failureReason,
  retryCount: 3,
  sourceService: 'persistence',
  firstFailureAt: 1_760_000_000_000,
  lastFailureAt: 1_760_000_001_000,
  stackTraceLines: ['at store (storage.ts:1)'],
})

async function withLetters(folder: string): Promise<void> {
  await using topics = await open(`sqlite:${join(folder, 'topics.db')}`, { registry: contractsRegistry })
  await FileSystemStorage.open({ root: join(folder, 'storage') })
  const queue = await DeadLetterQueue.open(topics)
  const ticks = ticksOf([3, 4])
  await queue.put(ticks.map(({ bytes }) => letter(bytes, 'StorageError: no room')))
  await queue.put([letter(Uint8Array.of(1, 2, 3), 'ContractError: not a tick')])
}

type Listed = { readonly id: string; readonly tickStart: number | null; readonly reason: string }

describe('letters', () => {
  it('are listed, inspected, redriven and discarded', async () => {
    using folder = temporaryFolder()
    const data = ['--data', folder.path]
    await withLetters(folder.path)
    const listed = await tidemarkJson<Listed[]>(['letters', 'list', ...data])
    assert.deepEqual(
      listed.map(({ tickStart }) => tickStart),
      [3, 4, null],
    )
    assert.match((await tidemark(['letters', 'list', '--reason', 'no room', ...data])).out, /tick +persistence +.* 3 /)
    const [first, , broken] = listed
    const shown = await tidemark(['letters', 'inspect', first?.id ?? '', ...data])
    assert.match(shown.out, /StorageError: no room.*at store \(storage\.ts:1\)/s)
    assert.equal((await tidemark(['letters', 'redrive', ...data])).code, EXIT.usage)
    assert.deepEqual(await tidemarkJson(['letters', 'redrive', first?.id ?? '', ...data]), { redriven: 1, failed: [] })
    const rest = await tidemark(['letters', 'redrive', '--all', ...data])
    assert.equal(rest.code, EXIT.failed)
    assert.match(rest.out, /^1 dead letter redriven\n.* stays: /)
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    assert.deepEqual(
      (await storage.listBatches({ prefix: `${RUN_ID}/` })).items.map(({ tickStart }) => tickStart),
      [3, 4],
    )
    assert.notEqual((await tidemark(['letters', 'discard', broken?.id ?? '', ...data])).code, EXIT.done)
    const gone = await tidemarkJson(['letters', 'discard', broken?.id ?? '', '--yes', ...data])
    assert.deepEqual(gone, { discarded: 1 })
    assert.deepEqual(await tidemarkJson(['letters', 'list', ...data]), [])
  })

  it('of a ledger are batches that failed, and may be retried', async () => {
    using folder = temporaryFolder()
    const data = ['--data', folder.path]
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    const { storageKey: key } = await storage.writeBatch(batchOf(ticksOf(range(0, 10))))
    {
      await using index = await openIndex(`sqlite:${join(folder.path, 'index')}`, RUN_ID)
      const ledger = await BatchLedger.open(index, { indexer: 'archive', samplingInterval: 1 })
      const result = await ledger.tryClaim({ key, tickStart: 0, tickEnd: 9 }, 'me')
      assert.ok(result.outcome === 'claimed')
      await ledger.fail(result.claim, new Error('The row is refused'))
    }
    assert.match(
      (await tidemark(['letters', 'failed', RUN_ID, ...data])).out,
      /archive +0 to 9 +1 .*The row is refused/,
    )
    assert.equal((await tidemark(['letters', 'retry', RUN_ID, ...data])).code, EXIT.usage)
    assert.deepEqual(await tidemarkJson(['letters', 'retry', RUN_ID, key, ...data]), { retried: 1 })
    assert.deepEqual(await tidemarkJson(['letters', 'failed', RUN_ID, ...data]), [])
  })
})
