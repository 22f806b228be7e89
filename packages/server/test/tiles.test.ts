import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import type { Cells } from '@tidemark/pipeline'
import { organismOf, tickOf } from '../../pipeline/test/indexes/ticks.ts'
import { ENGINES, indexedWorld } from './indexed-worlds.ts'

const TYPES = ['empty', 'energy', 'structure', 'toxin', 'core']
const TORUS = { environment: { shape: [100, 100], topology: 'torus' as const }, moleculeTypes: TYPES }

/** One cell of each kind near each corner, and a line of energy. */
function cells(): Cells {
  const line = Array.from({ length: 100 }, (_, x) => [5_000 + x, 1, x - 50, 0])
  const rows = [[0, 4, 9, 7], [99, 3, 8, 8], [9_900, 2, 7, 7], [9_999, 1, 6, 0], ...line].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0)) // biome-ignore format: as a table
  const column = (at: number) => Int32Array.from(rows, row => row[at] ?? 0)
  return { flatIndex: column(0), moleculeType: column(1), moleculeValue: column(2), ownerId: column(3) }
}

const organisms = [organismOf(7, { lineage: 3 }), organismOf(8, { lineage: 4 })]

for (const engine of ENGINES) {
  describe(`tiles, on ${engine.name}`, () => {
    it('are octets with their size and element in headers, cacheable for ever', async () => {
      await using world = await indexedWorld(engine, TORUS)
      await world.write([1, 2].map(tick => tickOf(world.runId, tick, { cells: cells(), organisms })))
      const tile = `${world.run}/environment/1/tile`
      const whole = await world.get(tile)
      assert.equal(whole.headers['content-type'], 'application/octet-stream')
      assert.deepEqual([whole.headers['tidemark-element'], whole.headers['tidemark-size']], ['u8', '100,100'])
      assert.deepEqual([whole.bytes.length, whole.bytes[0], whole.bytes[99], whole.bytes[9_900]], [10_000, 4, 3, 2])
      assert.match(String(whole.headers['cache-control']), /immutable/)
      assert.equal((await world.get(tile, { 'if-none-match': String(whole.headers.etag) })).status, 304)
      const small = await world.get(`${tile}?size=2,2`)
      assert.deepEqual([...small.bytes], [4, 3, 2, 1])
      const corner = await world.get(`${tile}?region=99,99:0,0&wrap`)
      assert.deepEqual([...corner.bytes], [1, 2, 3, 4])
      const beyond = await world.get(`${tile}?region=-1,-1:0,0&wrap=true`)
      assert.deepEqual([...beyond.bytes], [1, 2, 3, 4])
      const value = await world.get(`${tile}?plane=value&region=0,50:1,50`)
      assert.deepEqual(
        [value.headers['tidemark-element'], value.bytes.readInt32LE(0), value.bytes.readInt32LE(4)],
        ['i32', -50, -49],
      )
      const lineage = await world.get(`${tile}?plane=lineage&region=0,0:99,0`)
      assert.deepEqual(
        [lineage.headers['tidemark-element'], lineage.bytes.readUInt32LE(0), lineage.bytes.readUInt32LE(396)],
        ['u32', 3, 4],
      )
    })

    it('are compressed as the client accepts, and whole ticks too', async () => {
      await using world = await indexedWorld(engine, TORUS)
      const flatIndex = Int32Array.from({ length: 5_000 }, (_, at) => at * 2)
      const many = { flatIndex, moleculeType: flatIndex.map(() => 1), moleculeValue: flatIndex, ownerId: flatIndex }
      await world.write([tickOf(world.runId, 1, { cells: many })])
      for (const path of ['/environment/1/tile', '/environment/1']) {
        const plain = await world.get(world.run + path)
        const gzip = await world.get(world.run + path, { 'accept-encoding': 'gzip, deflate' })
        assert.deepEqual([gzip.headers['content-encoding'], gunzipSync(gzip.bytes).equals(plain.bytes)], ['gzip', true])
        const brotli = await world.get(world.run + path, { 'accept-encoding': 'gzip, br' })
        assert.deepEqual(
          [brotli.headers['content-encoding'], brotliDecompressSync(brotli.bytes).equals(plain.bytes)],
          ['br', true],
        )
        const zstd = await world.get(world.run + path, { 'accept-encoding': 'gzip, br, zstd' })
        assert.deepEqual(
          [zstd.headers['content-encoding'], zstdDecompressSync(zstd.bytes).equals(plain.bytes)],
          ['zstd', true],
        )
      }
    })

    it('are pictures for thumbnails', async () => {
      await using world = await indexedWorld(engine, TORUS)
      await world.write([tickOf(world.runId, 1, { cells: cells(), organisms })])
      for (const plane of ['type', 'value', 'owner', 'lineage']) {
        const { status, bytes, headers } = await world.get(
          `${world.run}/environment/1/tile.png?size=64,32&plane=${plane}`,
        )
        assert.deepEqual([status, headers['content-type'], bytes.toString('latin1', 1, 4)], [200, 'image/png', 'PNG'])
        assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [32, 32])
        const data = bytes.indexOf('IDAT')
        const rows = inflateSync(bytes.subarray(data + 4, data + 4 + bytes.readUInt32BE(data - 4)))
        assert.equal(rows.length, 33 * 32)
        assert.notEqual(rows[1], 0)
      }
      assert.notDeepEqual(
        (await world.get(`${world.run}/environment/1/tile.png?theme=light`)).bytes,
        (await world.get(`${world.run}/environment/1/tile.png`)).bytes,
      )
    })

    it('of a missing tick are not found, with the nearest ones', async () => {
      await using world = await indexedWorld(engine, TORUS)
      const none = await world.get(`${world.run}/environment/3/tile`)
      assert.deepEqual([none.status, none.body.nearest], [404, { before: null, after: null }])
      await world.write([2, 7].map(tick => tickOf(world.runId, tick, { cells: cells(), organisms })))
      const paths = ['/environment/3/tile', '/environment/3/tile.png', '/environment/3', '/environment/3/cells/1,1', '/difference?from=2&to=3', '/difference?from=3&to=7', '/ticks/3/organisms', '/organisms/7/ticks/3'] // biome-ignore format: a list
      for (const path of paths) {
        const { status, body } = await world.get(world.run + path)
        assert.deepEqual([status, body.code, body.nearest], [404, 'TIDEMARK_NOT_FOUND', { before: 2, after: 7 }], path)
        assert.match(body.detail, /The nearest are 2 and 7/)
      }
      assert.deepEqual((await world.get(`${world.run}/environment/9/tile`)).body.nearest, { before: 7, after: null })
    })

    it('refuse what is too large or invalid, and say what to do', async () => {
      await using world = await indexedWorld(engine, TORUS, { limits: { tilePixels: 5_000 } })
      await world.write([tickOf(world.runId, 1, { cells: cells(), organisms })])
      const tile = `${world.run}/environment/1/tile`
      const large = await world.get(tile)
      assert.deepEqual([large.status, large.body.code], [413, 'TIDEMARK_TILE_TOO_LARGE'])
      assert.match(large.body.detail, /10000 pixels; the limit is 5000.*limits.tilePixels/)
      assert.equal((await world.get(`${tile}?size=99999,50`)).status, 200)
      for (const query of [
        'region=-1,0:5,5',
        'region=0,0:100,5',
        'region=0,0:100,5&wrap',
        'region=5,5:1,1',
        'region=0,0:1',
        'region=0:1',
        'size=0,5',
        'size=5',
        'size=999999,1',
        'plane=none',
        'reduce=mean',
        'plane=lineage&reduce=max',
        'wrap=maybe',
      ]) {
        // biome-ignore format: a list
        const { status, body } = await world.get(`${tile}?size=50,50&${query}`.replace('size=50,50&size', 'size'))
        assert.equal(status, 400, `${query}: ${JSON.stringify(body)}`)
      }
    })

    it('show a world of one dimension and a plane of four', async () => {
      await using world = await indexedWorld(engine, {
        environment: { shape: [50], topology: 'bounded' },
        moleculeTypes: TYPES,
      })
      const one = {
        flatIndex: Int32Array.of(0, 49),
        moleculeType: Int32Array.of(4, 3),
        moleculeValue: Int32Array.of(1, 1),
        ownerId: Int32Array.of(0, 0),
      }
      await world.write([tickOf(world.runId, 1, { cells: one })])
      const row = await world.get(`${world.run}/environment/1/tile`)
      assert.deepEqual([row.headers['tidemark-size'], row.bytes[0], row.bytes[49]], ['50,1', 4, 3])
      assert.equal((await world.get(`${world.run}/environment/1/tile?region=0:49&wrap`)).status, 400)
      const other = '20200101-00000000-00000000-0000-4000-8000-000000000001'
      await world.begin({ runId: other, environment: { shape: [5, 4, 3, 2], topology: 'torus' }, moleculeTypes: TYPES })
      await world.write([tickOf(other, 1, { cells: { ...one, flatIndex: Int32Array.of(0, 119) } })])
      const plane = await world.get(`/api/v1/runs/${other}/environment/1/tile?region=0,0,2,1:4,3,2,1`)
      assert.deepEqual([plane.headers['tidemark-size'], plane.bytes[0], plane.bytes[19]], ['5,4', 0, 3])
      assert.equal((await world.get(`/api/v1/runs/${other}/environment/1/tile?region=0,0,0,0:4,3,2,0`)).status, 400)
    })
  })
}
