import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import {
  BoundedQueue,
  batchOf,
  decodeMetadata,
  type EncodedMetadata,
  type EncodedTick,
  encodeTick,
  FileSystemStorage,
  IngestError,
  IngestService,
  type IngestServiceOptions,
  type SimulationMetadata,
} from '../../src/index.ts'
// Inside: chunks that end in the middle of a length can’t be had of a real stream.
import { readDelimited } from '../../src/services/ingest/read-delimited.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { delimited, METADATA, varint } from './ingested.ts'
import { SILENT } from './loggers.ts'

const bytesOf = (ticks: readonly EncodedTick[]): Uint8Array[] => ticks.map(({ bytes }) => bytes)

function ingesting(content: Uint8Array, folder: string, given: Partial<IngestServiceOptions> = {}, maxItems = 1_000) {
  const input = join(folder, 'ticks.pb')
  writeFileSync(input, content)
  const ticks = new BoundedQueue<EncodedTick>({ maxItems, maxBytes: 2 ** 30, sizeOf: ({ bytes }) => bytes.length })
  return { ticks, service: new IngestService('ingest', { input, ticks, ...given }, SILENT) }
}

const cellAt = (runId: string, tick: number, flat: number): EncodedTick => {
  const column = (value: number) => Int32Array.of(value)
  const cells = { flatIndex: column(flat), moleculeType: column(0), moleculeValue: column(0), ownerId: column(0) }
  return encodeTick({ runId, tick, capturedAt: 0, cells, organisms: [] })
}

/** Its cells have three indexes and two types. */
const MALFORMED = ((): Uint8Array => {
  const { bytes } = cellAt(RUN_ID, 2, 0)
  const beforeCells = bytes.subarray(0, bytes.indexOf(0x22, 2 + RUN_ID.length))
  return Buffer.concat([beforeCells, Uint8Array.of(0x22, 9, 0x0a, 3, 1, 1, 1, 0x12, 2, 1, 1)])
})()

describe('the checks of an ingest', () => {
  const OTHER = '20260101-00000000-00000000-0000-4000-8000-000000000009'
  const refused: readonly [what: string, bad: Uint8Array, why: RegExp][] = [
    [
      'a cell beyond the world',
      cellAt(RUN_ID, 2, 20).bytes,
      /message 2, .*flat_index of cell 0 is 20, beyond the world: the world has 20 cells/,
    ],
    ['malformed cells', MALFORMED, /message 2, .*is not a tick: .*CellStateList/],
    [
      'a tick of another run',
      cellAt(OTHER, 2, 0).bytes,
      new RegExp(`message 2, .*is refused: tick 2 belongs to run ${OTHER}`),
    ],
  ]
  for (const [what, bad, why] of refused) {
    it(`refuses ${what}, and says which message it is`, async () => {
      using folder = temporaryFolder()
      const metadataFile = join(folder.path, 'metadata.json')
      writeFileSync(metadataFile, JSON.stringify(METADATA))
      const good = [cellAt(RUN_ID, 0, 0), cellAt(RUN_ID, 1, 19)]
      const content = delimited([...bytesOf(good), bad, cellAt(RUN_ID, 3, 0).bytes])
      const { service, ticks } = ingesting(content, folder.path, { metadataFile })
      await service.start()
      await service.ended()
      assert.equal(service.state, 'ERROR')
      assert.match(service.status().errors[0]?.error.message ?? '', why)
      assert.deepEqual(await ticks.drain(1_000, { timeout: 0 }), good)
    })
  }

  it('knows the world of a run from the storage, if it was stored before', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    await storage.writeMetadata(METADATA)
    const { service } = ingesting(delimited(bytesOf([cellAt(RUN_ID, 0, 20)])), folder.path, { storage })
    await service.start()
    await service.ended()
    assert.match(service.status().errors[0]?.error.message ?? '', /message 0, .*beyond the world/)
  })

  it('accepts one run per input if none is given', async () => {
    using folder = temporaryFolder()
    const content = delimited(bytesOf([cellAt(RUN_ID, 0, 999), cellAt(OTHER, 1, 0)]))
    const { service, ticks } = ingesting(content, folder.path)
    await service.start()
    await service.ended()
    assert.match(service.status().errors[0]?.error.message ?? '', /message 1, .*is refused/)
    assert.equal(ticks.metrics.items, 1)
  })
})

describe('ingest of a file', () => {
  it('passes on every tick unchanged, and ends with the file', async () => {
    using folder = temporaryFolder()
    const expected = ticksOf(range(0, 300), { genomeBytes: 700 })
    const { service, ticks } = ingesting(delimited(bytesOf(expected)), folder.path)
    await service.start()
    await service.ended()
    assert.equal(service.state, 'STOPPED')
    assert.deepEqual(await ticks.drain(1_000, { timeout: 0 }), expected)
    assert.equal(service.status().metrics.ticks, 300)
  })

  it('takes no more than fits into the queue, and stops while it waits', async () => {
    using folder = temporaryFolder()
    const content = delimited(bytesOf(ticksOf(range(0, 300))))
    const { service, ticks } = ingesting(content, folder.path, {}, 10)
    await service.start()
    await until(() => ticks.metrics.waitingPuts === 1, { what: 'a full queue' })
    assert.equal(ticks.metrics.items, 10)
    await service.stop({ timeoutMs: 5_000 })
    assert.equal(service.state, 'STOPPED')
    assert.equal(ticks.metrics.waitingPuts, 0)
  })

  it('puts the metadata of its JSON file first', async () => {
    using folder = temporaryFolder()
    const described: SimulationMetadata = {
      runId: RUN_ID,
      startedAt: 5,
      seed: 'x',
      samplingInterval: 1,
      environment: { shape: [10, 10], topology: 'torus' },
      settings: '{}',
      moleculeTypes: ['empty'],
    }
    const metadataFile = join(folder.path, 'metadata.json')
    writeFileSync(metadataFile, JSON.stringify(described))
    const metadata = new BoundedQueue<EncodedMetadata>({
      maxItems: 9,
      maxBytes: 9_999,
      sizeOf: ({ bytes }) => bytes.length,
    })
    const { service } = ingesting(delimited(bytesOf(ticksOf([0]))), folder.path, { metadata, metadataFile })
    await service.start()
    await service.ended()
    const [item] = await metadata.drain(1, { timeout: 0 })
    assert.deepEqual(item && decodeMetadata(item.bytes), described)
  })

  it('skips stored ticks, so that the same file can be read again', async () => {
    using folder = temporaryFolder()
    const all = ticksOf(range(0, 30))
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    await storage.writeBatch(batchOf(all.slice(0, 10)))
    await storage.writeBatch(batchOf(all.slice(20, 25)))
    const { service, ticks } = ingesting(delimited(bytesOf(all)), folder.path, { storage })
    await service.start()
    await service.ended()
    assert.deepEqual(await ticks.drain(1_000, { timeout: 0 }), [...all.slice(10, 20), ...all.slice(25)])
    assert.equal(service.status().metrics.passedOver, 15)
  })

  const ticks = ticksOf([0, 1])
  const good = delimited(bytesOf(ticks))
  const BAD: readonly [what: string, content: Uint8Array, message: RegExp][] = [
    ['cut short', Buffer.concat([good, varint(100), Buffer.alloc(7)]), /is truncated/],
    ['cut short in its length', Buffer.concat([good, Uint8Array.of(0x80)]), /is truncated/],
    ['far too long', Buffer.concat([good, varint(2 ** 31)]), /has a length of 2147483648 bytes; the maximum is/],
    ['without a length', Buffer.concat([good, Buffer.alloc(9, 0xff)]), /has no valid length/],
    ['no tick', Buffer.concat([good, varint(3), Buffer.from('abc')]), /is not a tick: /],
    ['empty', Buffer.concat([good, varint(0)]), /is not a tick: /],
  ]
  for (const [what, content, problem] of BAD) {
    it(`reports the position of a message that is ${what}, and accepts everything before it`, async () => {
      using folder = temporaryFolder()
      const { service, ticks: queue } = ingesting(content, folder.path)
      await service.start()
      await service.ended()
      assert.equal(service.state, 'ERROR')
      const [{ error } = {}] = service.status().errors
      assert.ok(error instanceof IngestError, String(error))
      assert.deepEqual([error.index, error.byte], [2, good.length])
      assert.match(error.message, new RegExp(`ticks\\.pb: message 2, which begins at byte ${good.length}, `))
      assert.match(error.message, problem)
      assert.deepEqual(await queue.drain(10, { timeout: 0 }), ticks)
    })
  }

  it('that does not exist is an error of the service', async () => {
    using folder = temporaryFolder()
    const { service } = ingesting(good, folder.path, { input: join(folder.path, 'nothing') })
    await service.start()
    await service.ended()
    assert.match(service.status().errors[0]?.error.message ?? '', /ENOENT.*nothing/)
  })
})

describe('delimited messages', () => {
  it('are the same however the input is cut into chunks', async () => {
    const messages = fc.array(fc.uint8Array({ maxLength: 300, size: 'max' }), { maxLength: 20 })
    const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 50 }))
    await fc.assert(
      fc.asyncProperty(messages, cuts, async (given, sizes) => {
        const whole = delimited(given)
        async function* chunks() {
          for (let at = 0; at < whole.length; ) {
            const size = sizes.next().value ?? 1
            yield whole.subarray(at, at + size)
            at += size
          }
        }
        const read: Uint8Array[] = []
        for await (const { bytes, byte, index } of readDelimited('input', chunks(), { maxMessageBytes: 300 })) {
          assert.equal(byte, delimited(given.slice(0, index)).length)
          read.push(bytes)
        }
        assert.deepEqual(
          read,
          given.map(bytes => new Uint8Array(bytes)),
        )
      }),
      { numRuns: 50 },
    )
  })
})

describe('ingest of standard input', () => {
  function run() {
    const script = fileURLToPath(new URL('scripts/ingest-stdin.ts', import.meta.url))
    const child = spawn(
      process.execPath,
      ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning', script],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
    let output = ''
    child.stdout.on('data', chunk => {
      output += chunk
    })
    return { child, output: () => output, [Symbol.dispose]: () => void child.kill('SIGKILL') }
  }

  it('continues as ticks arrive, and ends with the input', async () => {
    using process = run()
    const { child, output } = process
    child.stdin.write(delimited(bytesOf(ticksOf([0, 1]))))
    await until(() => output().includes('tick 1\n'), { what: 'the first ticks while the input is open' })
    child.stdin.end(delimited(bytesOf(ticksOf([2]))))
    const [code] = await once(child, 'close')
    assert.equal(code, 0)
    assert.equal(output(), 'tick 0\ntick 1\ntick 2\nSTOPPED\n')
  })

  it('stops while it waits for input', async () => {
    using process = run()
    const { child, output } = process
    child.stdin.write(delimited(bytesOf(ticksOf([0]))))
    await until(() => output().includes('tick 0\n'), { what: 'the first tick' })
    child.kill('SIGTERM')
    const [code] = await once(child, 'close')
    assert.deepEqual([code, output()], [0, 'tick 0\nSTOPPED\n'])
  })
})
