import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { zstdDecompressSync } from 'node:zlib'
import {
  BATCH_TOPIC,
  DEFAULT_LIMITS,
  decodeCells,
  encodeCells,
  index,
  loadEnvironmentStrategy,
  openIndex,
  storageRead,
  topicRead,
} from '@tidemark/pipeline'
import { until } from '../../../testing/until.ts'
import { metadataOf, RUN_ID, startWorld, tickOf, ticksOf, type World } from './worlds.ts'

const LAST = 20
const NOBODY = '20260101-00000000-00000000-0000-4000-8000-000000000000'

describe('an indexed run', () => {
  let world: World
  let run: string

  before(async () => {
    world = await startWorld()
    run = `/api/v1/runs/${world.runId}`
    assert.equal((await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))).status, 202)
    const ingested = await world.ingest(ticksOf(world.runId, 0, LAST))
    assert.deepEqual([ingested.status, ingested.body.ticks, ingested.body.lastTick], [202, LAST + 1, LAST])
    await world.indexed(LAST)
  })
  after(() => world[Symbol.asyncDispose]())

  it('is listed, and described by its metadata and ranges', async () => {
    assert.deepEqual((await world.get('/api/v1/runs')).body, { runs: [world.runId], next: null })
    const { body } = await world.get(run)
    assert.deepEqual(body.metadata, metadataOf(world.runId))
    const range = { tickStart: 0, tickEnd: LAST, ticks: LAST + 1 }
    assert.deepEqual(body.indexed, { environment: range, organisms: range, series: range })
    assert.deepEqual((await world.get(`${run}/metadata`)).body, metadataOf(world.runId))
    assert.deepEqual((await world.get(`${run}/gaps`)).body, { gaps: [], next: null })
  })

  it('without an index is not found', async () => {
    for (const path of ['', '/metadata', '/gaps', '/series', '/environment/1', '/ticks/1/organisms', '/organisms/1']) {
      const answer = await world.get(`/api/v1/runs/${NOBODY}${path}`)
      assert.deepEqual([answer.status, answer.body.code], [404, 'TIDEMARK_INDEX_NOT_FOUND'])
    }
    assert.equal((await world.get('/api/v1/runs/20261399-00000000-00000000-0000-4000-8000-000000000000')).status, 400)
  })

  it("gives a tick's cells byte for byte, cacheable for ever, with the time it took", async () => {
    const answer = await world.get(`${run}/environment/5`, { 'accept-encoding': 'gzip, zstd;q=0' })
    assert.equal(answer.headers['content-type'], 'application/x-protobuf')
    assert.equal(answer.headers['content-encoding'], undefined)
    assert.deepEqual([...answer.bytes], [...encodeCells(tickOf(world.runId, 5).cells)])
    assert.match(String(answer.headers['cache-control']), /immutable/)
    assert.match(String(answer.headers['server-timing']), /read;dur=[\d.]+.*total;dur=/)
    const known = await world.get(`${run}/environment/5`, { 'if-none-match': String(answer.headers.etag) })
    assert.deepEqual([known.status, known.bytes.length], [304, 0])
    const asJson = await world.get(`${run}/environment/5`, {
      accept: 'application/json',
      'if-none-match': String(answer.headers.etag),
    })
    assert.equal(asJson.status, 200)
  })

  it('sends compressed bytes to clients that accept them', async () => {
    const answer = await world.get(`${run}/environment/5`, { 'accept-encoding': 'gzip, zstd' })
    assert.equal(answer.headers['content-encoding'], 'zstd')
    assert.match(String(answer.headers.vary), /accept-encoding/)
    assert.deepEqual([...zstdDecompressSync(answer.bytes)], [...encodeCells(tickOf(world.runId, 5).cells)])
    const region = await world.get(`${run}/environment/5?region=0,0:9,9`, { 'accept-encoding': 'zstd' })
    assert.equal(region.headers['content-encoding'], undefined)
  })

  it('lets other answers be cached too, if nothing can change them', async () => {
    for (const path of ['/environment/3/cells/1,1', '/difference?from=1&to=2', '/ticks/3/organisms?limit=1']) {
      const { headers, status } = await world.get(run + path)
      assert.deepEqual([status, String(headers['cache-control']).includes('immutable')], [200, true], path)
      const known = await world.get(run + path, { 'if-none-match': String(headers.etag) })
      assert.deepEqual([known.status, known.text], [304, ''], path)
    }
    for (const path of [`/difference?from=${LAST}&to=2`, `/ticks/${LAST}/organisms`, '/organisms/1', '/series']) {
      assert.doesNotMatch(String((await world.get(run + path)).headers['cache-control']), /immutable/)
    }
  })

  it('does not let its last tick be cached for ever', async () => {
    const { headers } = await world.get(`${run}/environment/${LAST}`)
    assert.deepEqual([headers['cache-control'], headers.etag], ['no-cache', undefined])
  })

  it('gives cells as columns on request', async () => {
    const { body, headers } = await world.get(`${run}/environment/2`, { accept: 'application/json' })
    assert.match(String(headers['content-type']), /^application\/json/)
    assert.deepEqual(body, {
      flatIndex: [0, 11, 22],
      moleculeType: [1, 1, 1],
      moleculeValue: [-2, 9, 20],
      ownerId: [1, 1, 1],
      next: null,
    })
    assert.equal((await world.get(`${run}/environment/2`, { accept: 'image/png' })).status, 406)
  })

  it('gives a region in both forms, and refuses one outside the world', async () => {
    const asJson = await world.get(`${run}/environment/9?region=0,0:1,9`, { accept: 'application/json' })
    assert.deepEqual(asJson.body.flatIndex, [0, 11])
    const binary = await world.get(`${run}/environment/9?region=0,0:1,9`)
    assert.deepEqual([...decodeCells(binary.bytes, DEFAULT_LIMITS).flatIndex], [0, 11])
    for (const region of ['0,0:10,10', '0:1', '0,0,0:1,1,1', '5,5:1,1', 'x', '0,0:1', '0,0']) {
      const refused = await world.get(`${run}/environment/9?region=${region}`)
      assert.equal(refused.status, 400, `${region}: ${refused.text}`)
    }
  })

  it('gives one cell, or says that it is empty', async () => {
    const full = await world.get(`${run}/environment/2/cells/1,1`)
    assert.deepEqual(full.body.cell, { coordinates: [1, 1], moleculeType: 1, moleculeValue: 9, ownerId: 1 })
    assert.deepEqual((await world.get(`${run}/environment/2/cells/0,1`)).body, { cell: null })
    assert.equal((await world.get(`${run}/environment/2/cells/10,0`)).status, 400)
  })

  it('gives the difference of two ticks, either way round', async () => {
    const forth = (await world.get(`${run}/difference?from=1&to=2`)).body
    assert.deepEqual([forth.set.flatIndex, forth.emptied], [[0, 11, 22], []])
    const back = (await world.get(`${run}/difference?from=2&to=1`)).body
    assert.deepEqual([back.set.flatIndex, back.emptied], [[0, 11], [22]])
    assert.equal((await world.get(`${run}/difference?from=2&to=999`)).status, 404)
  })

  it('gives organisms at a tick, page by page, and one over its life', async () => {
    const first = (await world.get(`${run}/ticks/4/organisms?limit=1`)).body
    assert.deepEqual([first.organisms[0].id, first.next, first.total], [1, 1, 2])
    const second = (await world.get(`${run}/ticks/4/organisms?limit=1&after=1`)).body
    assert.deepEqual([second.organisms[0].id, second.organisms[0].genomeBase64, second.next], [2, 'AgID', null])
    const facts = (await world.get(`${run}/organisms/2`)).body
    assert.deepEqual([facts.parentId, facts.birthTick, facts.deathTick], [1, 3, null])
    assert.equal((await world.get(`${run}/organisms/99`)).status, 404)
    assert.equal((await world.get(`${run}/organisms/2/ticks/4`)).body.organism.energy, 96)
    assert.deepEqual((await world.get(`${run}/organisms/2/ticks/1`)).body, { organism: null })
    const { life } = (await world.get(`${run}/organisms/2/life?from=5&to=7`)).body
    assert.deepEqual(
      life.map((each: { tick: number }) => each.tick),
      [5, 6, 7],
    )
    const { ancestors, children } = (await world.get(`${run}/organisms/2/lineage`)).body
    assert.deepEqual([ancestors.map((each: { id: number }) => each.id), children], [[2, 1], []])
  })

  it('gives series at a resolution', async () => {
    const { points } = (await world.get(`${run}/series?points=5`)).body
    assert.ok(points.length > 0 && points.length <= 5)
    assert.equal(points[0].tick, 0)
    assert.equal((await world.get(`${run}/series?points=0`)).status, 400)
  })

  it('refuses invalid ticks, and does not find ticks that are not indexed', async () => {
    for (const tick of ['-1', '1.5', 'x', '1e400', '99999999999999999999', '']) {
      assert.ok([400, 404].includes((await world.get(`${run}/environment/${tick}`)).status), tick)
    }
    const missing = await world.get(`${run}/environment/999`)
    assert.deepEqual([missing.status, missing.body.code], [404, 'TIDEMARK_NOT_FOUND'])
    assert.equal((await world.get(`${run}/ticks/999/organisms`)).status, 404)
  })

  it('is compressed if it is JSON and the client accepts it', async () => {
    const answer = await world.get('/api/v1/openapi.json', { 'accept-encoding': 'zstd' })
    assert.equal(answer.headers['content-encoding'], 'zstd')
  })
})

describe('a missing object', () => {
  let world: World
  let run: string

  before(async () => {
    world = await startWorld()
    run = `/api/v1/runs/${world.runId}`
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 5))
    await world.ingest(ticksOf(world.runId, 10, LAST))
    await world.indexed(LAST)
  })
  after(() => world[Symbol.asyncDispose]())

  it('in a gap is 404, now and when repeated, and is not cacheable', async () => {
    const paths = ['environment/7', 'environment/7?region=0,0:1,1', 'environment/7/cells/0,0', 'ticks/7/organisms']
    for (const path of [...paths, 'difference?from=5&to=7', 'difference?from=7&to=11']) {
      const url = `${run}/${path}`
      for (const accept of ['application/x-protobuf', 'application/json', '*/*']) {
        const missing = await world.get(url, { accept })
        if (missing.status === 406) continue
        assert.deepEqual([missing.status, missing.headers.etag], [404, undefined], url)
        assert.doesNotMatch(String(missing.headers['cache-control']), /immutable/)
      }
      for (const form of ['application/x-protobuf', 'application/json', 'cell', 'organisms', 'difference']) {
        const again = await world.get(url, { 'if-none-match': `W/"${form} ${url}"` })
        assert.equal(again.status, 404, `${url} as ${form}`)
      }
    }
  })

  it('of an organism is 404 on every route', async () => {
    for (const path of ['', '/ticks/3', '/life', '/lineage']) {
      const answer = await world.get(`${run}/organisms/99${path}`)
      assert.deepEqual([answer.status, answer.body.code], [404, 'TIDEMARK_NOT_FOUND'], path)
    }
    assert.equal((await world.get(`${run}/organisms/2/ticks/0`)).status, 200)
  })

  it('because the range is reversed is 400, wherever a range is given', async () => {
    await world.tm.publish('orders', 1)
    const times = 'since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z'
    for (const path of [
      `${run}/series?from=5&to=4`,
      `${run}/organisms/1/life?from=5&to=4`,
      `${run}/environment/5?region=3,3:2,3`,
      `/api/v1/topics/orders/messages?${times}`,
      '/api/v1/topics/orders/messages?after=9&before=3',
    ]) {
      assert.equal((await world.get(path)).status, 400, path)
    }
    const body = { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }
    for (const verb of ['redrive', 'discard']) {
      assert.equal((await world.post(`/api/v1/topics/orders/dead-letters/${verb}`, body)).status, 400)
    }
    // Two ticks are no range: what changed can be asked for backwards.
    assert.equal((await world.get(`${run}/difference?from=4&to=3`)).status, 200)
  })

  it('in a gap exists as soon as the gap is filled, and is then cacheable', async () => {
    const paths = ['environment/7', 'environment/7/cells/0,0', 'ticks/7/organisms', 'difference?from=7&to=11']
    for (const path of paths) assert.equal((await world.get(`${run}/${path}`)).status, 404, path)
    await world.ingest(ticksOf(world.runId, 6, 9))
    for (const path of paths) {
      await until(async () => (await world.get(`${run}/${path}`)).status !== 404, { what: `${path} to be found` })
      const found = await world.get(`${run}/${path}`, { 'if-none-match': '"what another tick had"' })
      assert.deepEqual([found.status, /immutable/.test(String(found.headers['cache-control']))], [200, true], path)
      assert.ok(found.bytes.length > 0)
    }
  })
})

describe('a tick that is damaged in the index', () => {
  it('is never returned as a tick', async () => {
    await using world = await startWorld()
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 5))
    await world.indexed(5)
    {
      await using database = await openIndex(`sqlite:${join(world.folder, 'index')}`, world.runId, { create: false })
      const set = (table: string, tick: number, ...bytes: number[]) =>
        database.transaction(tx =>
          tx.run(`update ${table} set data = ?1 where tick = ?2`, Uint8Array.from(bytes), tick),
        )
      // Three indexes and two types; a cell beyond the world; what zstd did not make; organisms that are none.
      await set('environment_tick', 1, 0x0a, 3, 1, 1, 1, 0x12, 2, 1, 1)
      await set('environment_tick', 2, 0x0a, 2, 0xe8, 0x07, 0x12, 1, 0, 0x1a, 1, 0, 0x22, 1, 0)
      await set('environment_tick', 3, 0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3)
      await set('organism_tick', 4, 0xff, 0xff, 0xff)
    }
    const run = `/api/v1/runs/${world.runId}`
    for (const tick of [1, 2, 3]) {
      for (const headers of [
        { accept: 'application/x-protobuf', 'accept-encoding': 'zstd' },
        { accept: 'application/x-protobuf', 'accept-encoding': 'identity' },
        { accept: 'application/json' },
      ]) {
        const answer = await world.get(`${run}/environment/${tick}`, headers)
        assert.ok(answer.status >= 500, `${tick} ${JSON.stringify(headers)}: ${answer.status}`)
        assert.match(answer.body.code, /^TIDEMARK_INDEX_/)
        assert.equal(answer.headers.etag, undefined)
      }
      assert.ok((await world.get(`${run}/difference?from=0&to=${tick}`)).status >= 500)
      assert.ok((await world.get(`${run}/environment/${tick}/cells/0,0`)).status >= 500)
    }
    for (const path of ['ticks/4/organisms', 'organisms/1/ticks/4', 'organisms/1/life?from=4&to=4']) {
      assert.equal((await world.get(`${run}/${path}`)).body.code, 'TIDEMARK_INDEX_TICK')
    }
    assert.equal((await world.get(`${run}/environment/5`)).status, 200)
  })
})

describe('a run indexed by a custom strategy', () => {
  it('is read through it', async () => {
    const strategy = fileURLToPath(import.meta.resolve('../../pipeline/test/indexes/strategies/row-per-cell.ts'))
    const environmentStrategy = await loadEnvironmentStrategy(strategy, { compression: 'none', level: 3 }, '.')
    const bindings = {
      batches: topicRead(BATCH_TOPIC, { consumerGroup: 'environment' }),
      storage: storageRead('ticks'),
      index: index('runs'),
    }
    const options = { strategy, runId: RUN_ID, flushTimeout: 50 }
    await using world = await startWorld(
      { environmentStrategy },
      { 'environment-indexer': { type: 'environment-indexer', bindings, options } },
    )
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 3))
    await world.indexed(3)
    const { bytes } = await world.get(`/api/v1/runs/${world.runId}/environment/2`)
    assert.deepEqual(decodeCells(bytes, DEFAULT_LIMITS), tickOf(world.runId, 2).cells)
  })
})
