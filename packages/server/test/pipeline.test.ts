import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type EncodedMetadata, type EncodedTick, encodeTick } from '@tidemark/pipeline'
import { until } from '../../../testing/until.ts'
import { serve } from './servers.ts'
import { Listener } from './streams.ts'
import { delimited, metadataOf, startWorld, ticksOf, type World } from './worlds.ts'

const TICKS = { 'content-type': 'application/octet-stream' }

describe('the pipeline over HTTP', () => {
  it('reports its status, and is stopped, started, paused, resumed and restarted, all or one', async () => {
    await using world = await startWorld()
    const status = await world.get('/api/v1/pipeline')
    assert.equal(status.body.healthy, true)
    const names = world.pipeline.services.names
    assert.deepEqual(
      status.body.services.map(({ name }: { name: string }) => name),
      names,
    )
    assert.ok(status.body.resources.some(({ kind }: { kind: string }) => kind === 'queue'))
    const one = '/api/v1/pipeline/services/persistence'
    const stateOfOne = async () => (await world.get(one)).body.state
    for (const [verb, state] of [
      ['pause', 'PAUSED'],
      ['resume', 'RUNNING'],
      ['stop', 'STOPPED'],
      ['start', 'RUNNING'],
      ['restart', 'RUNNING'],
    ] as const) {
      const answer = await world.post(`${one}/${verb}`)
      assert.deepEqual([answer.status, answer.body.state, await stateOfOne()], [200, state, state])
    }
    const paused = await world.post('/api/v1/pipeline/pause')
    assert.ok(paused.body.services.every(({ state }: { state: string }) => state !== 'RUNNING'))
    assert.equal((await world.post('/api/v1/pipeline/resume')).status, 200)
    assert.equal((await world.post('/api/v1/pipeline/stop')).status, 200)
    assert.equal(await stateOfOne(), 'STOPPED')
    const started = (await world.post('/api/v1/pipeline/start')).body
    assert.deepEqual(started, { started: names, waiting: [], failed: [] })
    const cleared = await world.post(`${one}/clear-errors`)
    assert.deepEqual([cleared.status, cleared.body.errors], [200, []])
    assert.equal((await world.post('/api/v1/pipeline/clear-errors')).status, 200)
    const unknown = await world.post('/api/v1/pipeline/services/nobody/start')
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'TIDEMARK_UNKNOWN_SERVICE'])
  })

  it('says what a service that cannot start lacks, and that the pipeline is unhealthy', async () => {
    await using world = await startWorld({}, { broken: { type: './missing.ts' } })
    const refused = await world.post('/api/v1/pipeline/services/broken/start')
    assert.deepEqual([refused.status, refused.body.code], [409, 'TIDEMARK_SERVICE_START'])
    assert.match(refused.body.detail, /missing\.ts/)
    for (const path of ['/api/v1/pipeline', '/api/v1/pipeline/services/broken', '/health', '/metrics']) {
      const { text } = await world.get(path)
      assert.ok(!text.includes(world.folder) && !text.includes(process.cwd()), `no path of the disk in ${path}`)
    }
    assert.ok(!refused.text.includes(world.folder))
    const { failed } = (await world.post('/api/v1/pipeline/start')).body
    assert.deepEqual([failed.length, failed[0].service], [1, 'broken'])
    const { state, errors } = (await world.get('/api/v1/pipeline/services/broken')).body
    assert.deepEqual([state, errors[0].action], ['ERROR', 'build'])
    const health = await world.get('/health')
    assert.deepEqual([health.status, health.body.pipeline], [503, { healthy: false }])
  })

  it('reports changes, its status and the newest run as events', async () => {
    await using world = await startWorld()
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 3))
    await world.indexed(3)
    await using events = await Listener.open(world.url, '/api/v1/events')
    const run = await events.next(({ event }) => event === 'run', 'the newest run')
    assert.deepEqual([run.data.runId, run.data.tick], [world.runId, 3])
    await world.post('/api/v1/pipeline/services/persistence/pause')
    const change = await events.next(({ event, data }) => event === 'service' && data.state === 'PAUSED', 'the change')
    assert.deepEqual(change.data, { type: 'state', service: 'persistence', state: 'PAUSED', before: 'RUNNING' })
    await events.next(({ event, data }) => {
      return event === 'pipeline' && data.services.some(({ state }: { state: string }) => state === 'PAUSED')
    }, 'the status')
    await using late = await Listener.open(world.url, '/api/v1/events')
    assert.equal((await late.next(({ event }) => event === 'run', 'the newest run again')).data.runId, world.runId)
  })

  it('is in the metrics', async () => {
    await using world = await startWorld()
    await world.tm.publish('constructor', 1)
    const { text, headers } = await world.get('/metrics')
    assert.match(String(headers['content-type']), /^text\/plain/)
    assert.match(text, /^tidemark_service_healthy\{service="persistence",state="RUNNING"\} 1$/m)
    assert.match(text, /^tidemark_topic_events_total\{event="published",topic="constructor",group=""\} 1$/m)
    assert.match(text, /^tidemark_resource_metric\{resource="ticks",kind="queue",metric="maxBytes"\} \d+$/m)
    assert.match(
      (await world.get('/metrics')).text,
      /tidemark_http_requests_total\{method="GET",route="\/metrics",status="200"\} 1/,
    )
    assert.deepEqual((await world.get('/health')).body.pipeline, { healthy: true })
  })
})

describe('the checks of the ingest', () => {
  const OTHER = '20260101-00000000-00000000-0000-4000-8000-000000000009'
  const cells = (flat: number) => ({
    flatIndex: Int32Array.of(flat),
    moleculeType: Int32Array.of(0),
    moleculeValue: Int32Array.of(0),
    ownerId: Int32Array.of(0),
  })
  /** Nothing of a tick that was refused gets any further. */
  async function assertNothingStored(world: World): Promise<void> {
    const { metrics } = world.pipeline.services.statusOf('persistence')
    assert.deepEqual([metrics.ticksWritten, metrics.deadLetters, metrics.queueItems], [0, 0, 0])
  }

  it('refuses a cell beyond the world: 400, and it is not stored', async () => {
    await using world = await startWorld()
    const [tick] = ticksOf(world.runId, 0, 0)
    assert.ok(tick)
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    const refused = await world.ingest([{ ...tick, cells: cells(100) }])
    assert.deepEqual([refused.status, refused.body.code], [400, 'TIDEMARK_INGEST'])
    assert.match(refused.body.detail, /flat_index of cell 0 is 100, beyond the world: the world has 100 cells, 0 to 99/)
    await assertNothingStored(world)
    assert.equal((await world.ingest([{ ...tick, cells: cells(99) }])).status, 202)
  })

  it('knows the world of a run that was indexed before this server started', async () => {
    await using world = await startWorld()
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 3))
    await world.indexed(3)
    const ingest = { ticks: world.pipeline.outlet<EncodedTick>('ticks') }
    await using server = await serve({ ingest, indexes: `sqlite:${join(world.folder, 'index')}` })
    const [tick] = ticksOf(world.runId, 4, 4)
    assert.ok(tick)
    const raw = delimited([{ ...tick, cells: cells(100) }])
    const refused = await server.call('POST', '/api/v1/ingest', { raw, headers: TICKS })
    assert.deepEqual([refused.status, refused.body.code], [400, 'TIDEMARK_INGEST'])
  })

  it('refuses malformed cells, even if the world is unknown', async () => {
    await using world = await startWorld()
    const [tick] = ticksOf(world.runId, 0, 0)
    assert.ok(tick)
    const { bytes } = encodeTick(tick)
    const head = bytes.subarray(0, bytes.indexOf(0x22, 2 + world.runId.length))
    // Three indexes and two types.
    const malformed = Buffer.concat([head, Uint8Array.of(0x22, 9, 0x0a, 3, 1, 1, 1, 0x12, 2, 1, 1)])
    const raw = Buffer.concat([Uint8Array.of(malformed.length), malformed])
    const refused = await world.call('POST', '/api/v1/ingest', { raw, headers: TICKS })
    assert.deepEqual([refused.status, refused.body.code], [400, 'TIDEMARK_INGEST'])
    assert.match(refused.body.detail, /message 0, .*CellStateList/)
    await assertNothingStored(world)
  })

  it('refuses ticks and metadata of another run, and two runs in one body', async () => {
    await using world = await startWorld()
    const mixed = await world.ingest([...ticksOf(world.runId, 0, 0), ...ticksOf(OTHER, 1, 1)])
    assert.equal(mixed.status, 400)
    assert.match(mixed.body.detail, new RegExp(`message 1, .*tick 1 belongs to run ${OTHER}`))
    const ticks = world.pipeline.outlet<EncodedTick>('ticks')
    const metadata = world.pipeline.outlet<EncodedMetadata>('metadata')
    await using server = await serve({ ingest: { ticks, metadata, runId: world.runId } })
    const raw = delimited(ticksOf(OTHER, 0, 0))
    const refused = await server.call('POST', '/api/v1/ingest', { raw, headers: TICKS })
    assert.deepEqual([refused.status, refused.body.code], [400, 'TIDEMARK_INGEST'])
    const foreign = await server.post('/api/v1/ingest/metadata', metadataOf(OTHER))
    assert.equal(foreign.status, 400)
    assert.match(foreign.body.detail, /this server accepts run/)
  })
})

describe('ingest over HTTP', () => {
  it('names the position of the error, and accepts everything before it', async () => {
    await using world = await startWorld()
    const good = delimited(ticksOf(world.runId, 0, 2))
    const raw = Buffer.concat([good, Buffer.from([3, 255, 255, 255])])
    const wrong = await world.call('POST', '/api/v1/ingest', { raw, headers: TICKS })
    assert.deepEqual([wrong.status, wrong.body.code], [400, 'TIDEMARK_INGEST'])
    assert.match(wrong.body.detail, new RegExp(`message 3, which begins at byte ${good.length}`))
    const cut = await world.call('POST', '/api/v1/ingest', { raw: good.subarray(0, -1), headers: TICKS })
    assert.match(cut.body.detail, /truncated/)
    const large = await world.call('POST', '/api/v1/ingest', {
      raw: Buffer.from([255, 255, 255, 255, 7]),
      headers: TICKS,
    })
    assert.equal(large.status, 400)
  })

  it('refuses other types, wrong metadata, and too many bytes', async () => {
    await using world = await startWorld({ limits: { ingestBytes: 1024 } })
    assert.equal((await world.post('/api/v1/ingest', {})).status, 415)
    const broken = await world.post('/api/v1/ingest/metadata', { ...metadataOf(world.runId), samplingInterval: 0 })
    assert.equal(broken.status, 400)
    const large = await world.ingest(ticksOf(world.runId, 0, 200))
    assert.deepEqual([large.status, large.body.code], [413, 'TIDEMARK_BODY_TOO_LARGE'])
  })

  it('does not wait for a body that is silent', async () => {
    await using world = await startWorld({ limits: { bodyTimeoutMs: 200 } })
    const { hostname, port } = new URL(world.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.write('POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n')
    socket.write('content-length: 1000\r\n\r\n')
    let received = ''
    socket.on('data', chunk => {
      received += chunk
    })
    await until(() => socket.closed, { what: 'the server to hang up' })
    assert.match(received, /^HTTP\/1\.1 408 .*TIDEMARK_BODY_TIMEOUT/s)
  })

  it('reports the error while the client is still sending', async () => {
    await using world = await startWorld()
    const { hostname, port } = new URL(world.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    let received = ''
    socket.on('data', chunk => {
      received += chunk
    })
    socket.write('POST /api/v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\n')
    socket.write('content-length: 1000000\r\n\r\n')
    socket.write(Buffer.from([3, 255, 255, 255]))
    await until(() => socket.closed, { what: 'the server to hang up' })
    assert.match(received, /^HTTP\/1\.1 400 .*TIDEMARK_INGEST/s)
  })

  it('does not exist if the server takes no ticks', async () => {
    await using server = await serve()
    const answer = await server.call('POST', '/api/v1/ingest', { raw: Buffer.alloc(0), headers: TICKS })
    assert.deepEqual([answer.status, answer.body.code], [404, 'TIDEMARK_NOT_SERVED'])
  })
})
