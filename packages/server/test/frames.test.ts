import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { until } from '../../../testing/until.ts'
import { tickOf } from '../../pipeline/test/indexes/ticks.ts'
import { ENGINES, type IndexedWorld, indexedWorld } from './indexed-worlds.ts'

const WORLD = { environment: { shape: [20, 10], topology: 'torus' as const }, moleculeTypes: ['empty', 'energy'] }

/** Its frames do not fit into the buffers of a connection. */
const LARGE = { ...WORLD, environment: { shape: [300, 300], topology: 'torus' as const } }

/** One cell that walks. */
const walking = (runId: string, tick: number) =>
  tickOf(runId, tick, {
    cells: {
      flatIndex: Int32Array.of(tick % 200),
      moleculeType: Int32Array.of(1),
      moleculeValue: Int32Array.of(tick),
      ownerId: Int32Array.of(0),
    },
  })

const writeTicks = (world: IndexedWorld, from: number, to: number) =>
  world.write(Array.from({ length: to - from + 1 }, (_, index) => walking(world.runId, from + index)))

type Frame = { readonly tick: number; readonly kind: number; readonly bytes: Buffer }

function parse(bytes: Buffer): Frame[] {
  const frames: Frame[] = []
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] as number
      value += (byte % 128) * factor
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const length = varint()
    const end = at + length
    const tick = varint()
    const kind = bytes[at++] as number
    frames.push({ tick, kind, bytes: bytes.subarray(at, end) })
    at = end
  }
  return frames
}

/** As a viewer does: whole pictures, from keys and differences. */
function pictures(frames: readonly Frame[]): Map<number, Buffer> {
  const found = new Map<number, Buffer>()
  let before: Buffer | undefined
  for (const { tick, kind, bytes } of frames.filter(({ kind }) => kind < 2)) {
    if (kind === 1) assert.ok(before !== undefined, 'a difference to nothing')
    const last = before
    before =
      kind === 0 || last === undefined
        ? Buffer.from(bytes)
        : Buffer.from(bytes.map((byte, at) => byte ^ (last[at] as number)))
    found.set(tick, before)
  }
  return found
}

const shortOf = (frames: readonly Frame[]) =>
  frames.filter(({ kind }) => kind >= 2).map(({ tick, kind, bytes }) => [tick, kind, ...bytes])

class Reader implements AsyncDisposable {
  readonly chunks: Buffer[] = []
  isEnded = false
  readonly response: IncomingMessage
  readonly #request: ClientRequest

  static async open(world: IndexedWorld, query: string): Promise<Reader> {
    const request = httpRequest(`${world.url}${world.run}/frames?${query}`, { agent: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return new Reader(request, response)
  }

  constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.response = response
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    response.on('close', () => {
      this.isEnded = true
    })
  }

  read(): void {
    this.response.on('data', chunk => this.chunks.push(chunk))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#request.destroy()
  }
}

for (const engine of ENGINES) {
  describe(`frames, on ${engine.name}`, () => {
    it('are the tiles of the ticks, every 30th whole, the others as differences', async () => {
      await using world = await indexedWorld(engine, WORLD)
      await writeTicks(world, 0, 64)
      const { status, headers, bytes } = await world.get(`${world.run}/frames?from=0&to=63`)
      assert.deepEqual([status, headers['tidemark-element'], headers['tidemark-size']], [200, 'u8', '20,10'])
      const frames = parse(bytes)
      assert.deepEqual(
        frames.filter(({ kind }) => kind === 0).map(({ tick }) => tick),
        [0, 30, 60],
      )
      assert.deepEqual(shortOf(frames), [[64, 3]])
      const seen = pictures(frames)
      assert.equal(seen.size, 64)
      for (const tick of [0, 1, 29, 30, 31, 63]) {
        assert.deepEqual(
          seen.get(tick),
          (await world.get(`${world.run}/environment/${tick}/tile`)).bytes,
          `tick ${tick}`,
        )
      }
      for (const [encoding, unpack] of [
        ['gzip', gunzipSync],
        ['br', brotliDecompressSync],
        ['zstd', zstdDecompressSync],
      ] as const) {
        // biome-ignore format: a table
        const packed = await world.get(`${world.run}/frames?from=0&to=63`, { 'accept-encoding': encoding })
        assert.equal(packed.headers['content-encoding'], encoding)
        assert.deepEqual(unpack(packed.bytes), bytes)
        assert.ok(packed.bytes.length < bytes.length / 3, `${encoding}: ${packed.bytes.length} of ${bytes.length}`)
      }
    })

    it('skip gaps and tell of them, however long they are, and end where the run does', async () => {
      await using world = await indexedWorld(engine, WORLD)
      await writeTicks(world, 2, 4)
      await writeTicks(world, 1_000_000, 1_000_003)
      const all = parse((await world.get(`${world.run}/frames?from=0`)).bytes)
      assert.deepEqual([...pictures(all).keys()], [2, 3, 4, 1_000_000, 1_000_001, 1_000_002, 1_000_003])
      assert.deepEqual(shortOf(all).map(([tick, kind]) => [tick, kind]), [[0, 2], [5, 2], [1_000_004, 3]]) // biome-ignore format: a table
      assert.deepEqual(all[0]?.bytes, Buffer.of(1))
      const second = parse((await world.get(`${world.run}/frames?from=0&every=2`)).bytes)
      assert.deepEqual([...pictures(second).keys()], [2, 4, 1_000_000, 1_000_002])
      const within = parse((await world.get(`${world.run}/frames?from=3&to=500&every=100`)).bytes)
      assert.deepEqual([...pictures(within).keys()], [3])
      const beyond = await world.get(`${world.run}/frames?from=2000000`)
      assert.deepEqual([beyond.status, beyond.body.nearest], [404, { before: 1_000_003, after: null }])
    })

    it('keep to the samples of a run that has only every tenth tick', async () => {
      await using world = await indexedWorld(engine, { ...WORLD, samplingInterval: 10 })
      await world.write([0, 10, 20, 50].map(tick => walking(world.runId, tick)))
      const frames = parse((await world.get(`${world.run}/frames?from=3&every=1`)).bytes)
      assert.deepEqual([...pictures(frames).keys()], [10, 20, 50])
      assert.deepEqual(
        frames.find(({ kind }) => kind === 2),
        { tick: 30, kind: 2, bytes: Buffer.of(40) },
      )
    })

    it('are bounded: by number, by pixels, and by the memory of slow readers', async () => {
      await using world = await indexedWorld(engine, WORLD, { limits: { frames: 10, tilePixels: 200 } })
      await writeTicks(world, 0, 30)
      const many = await world.get(`${world.run}/frames?from=0&to=30`)
      assert.deepEqual([many.status, many.body.code], [413, 'TIDEMARK_TOO_MANY_FRAMES'])
      assert.match(many.body.detail, /31 frames; the limit is 10.*limits.frames/)
      const first = parse((await world.get(`${world.run}/frames?from=0`)).bytes)
      assert.deepEqual([pictures(first).size, shortOf(first)], [10, [[10, 3]]])
      const rest = parse((await world.get(`${world.run}/frames?from=10&every=3&to=30`)).bytes)
      assert.deepEqual([...pictures(rest).keys()], [10, 13, 16, 19, 22, 25, 28])
      for (const query of [
        'from=5&to=1',
        'to=5',
        'from=-1',
        'from=0&every=0',
        'from=0&region=0,0:20,1',
        'from=0&plane=x',
      ]) {
        assert.equal((await world.get(`${world.run}/frames?${query}`)).status, 400, query)
      }
    })

    it('say what happened where the run is removed while they are read', async () => {
      await using world = await indexedWorld(engine, LARGE)
      await writeTicks(world, 0, 99)
      await using reader = await Reader.open(world, 'from=0&to=99&plane=value')
      await world.place.execute('drop table run.environment_tick')
      reader.read()
      await until(() => reader.isEnded, { what: 'the stream to end' })
      const frames = parse(Buffer.concat(reader.chunks))
      assert.ok(pictures(frames).size < 100, 'all of it was sent before')
      const last = frames.at(-1)
      assert.equal(last?.kind, 4)
      const problem = JSON.parse(String(last?.bytes))
      assert.deepEqual([problem.status >= 500, problem.code.startsWith('TIDEMARK_INDEX')], [true, true])
    })
  })
}

describe('a reader of frames', () => {
  const [sqlite] = ENGINES

  it('that reads slowly is waited for, and one that leaves frees what it had', async () => {
    assert.ok(sqlite !== undefined)
    await using world = await indexedWorld(sqlite, LARGE, { limits: { streams: 1 } })
    await world.write(Array.from({ length: 100 }, (_, tick) => walking(world.runId, tick)))
    {
      await using slow = await Reader.open(world, 'from=0&every=1&to=99')
      // Its place is taken as long as it has not read, however little that is.
      const refused = await world.get(`${world.run}/frames?from=0&to=1`)
      assert.deepEqual([refused.status, refused.body.code], [503, 'TIDEMARK_TOO_MANY'])
      slow.read()
      await until(() => slow.isEnded, { what: 'the slow reader to have all' })
      assert.equal(pictures(parse(Buffer.concat(slow.chunks))).size, 100)
    }
    {
      await using leaving = await Reader.open(world, 'from=0&to=99&plane=value')
      leaving.response.once('data', () => leaving.response.destroy())
      await until(() => leaving.isEnded, { what: 'it to leave' })
    }
    await until(async () => (await world.get(`${world.run}/frames?from=0&to=1`)).status === 200, {
      what: 'its place to be free',
    })
  })

  it('is refused while the memory for slow readers is used up', async () => {
    assert.ok(sqlite !== undefined)
    await using world = await indexedWorld(sqlite, LARGE, { limits: { unsentBytes: 2 * 1024 ** 2 } })
    await world.write([walking(world.runId, 0)])
    const refused = await world.get(`${world.run}/frames?from=0&plane=value`)
    assert.deepEqual([refused.status, refused.body.code], [503, 'TIDEMARK_UNSENT_ANSWERS'])
    assert.equal((await world.get(`${world.run}/frames?from=0&plane=value&size=100,100`)).status, 200)
  })
})
