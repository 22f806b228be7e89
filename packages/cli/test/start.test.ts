import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../testing/folders.ts'
import { until } from '../../../testing/until.ts'
import { RUN_ID, SMALL_AND_STEADY, simulationOption } from '../../pipeline/test/whole/world.ts'
import { delimited, metadataOf, ticksOf } from '../../server/test/worlds.ts'
import { EXIT } from '../src/exit-codes.ts'
import { type RunningCommand, startTidemark, tidemark, tidemarkHere } from './command.ts'
import { ENGINES, QUIET } from './engines.ts'

const SETTINGS = {
  ...SMALL_AND_STEADY,
  ...simulationOption('RUN_ID', RUN_ID),
  ...simulationOption('TICKS_PER_SECOND', 100),
}

const addressOf = async (command: RunningCommand): Promise<string> =>
  (await command.waitFor(/(http:\/\/[\d.:]+)/))[1] ?? ''

async function answer(address: string, path: string, token?: string): Promise<{ status: number; body: unknown }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(`${address}${path}`, { headers })
  return { status: response.status, body: await response.json() }
}

describe('tidemark start', () => {
  it('runs the pipeline and serves it at the address it prints, until Ctrl-C', async () => {
    using folder = temporaryFolder()
    const args = ['start', '--data', folder.path, '--port', '0', '--json']
    const environment = { ...SETTINGS, MALLOC_ARENA_MAX: undefined }
    await using command = startTidemark(args, { environment })
    const address = await addressOf(command)
    assert.deepEqual(JSON.parse(command.out.split('\n')[0] ?? ''), { event: 'begun', runId: RUN_ID, url: address })
    assert.equal((await answer(address, '/api/v1/topics')).status, 200)
    await until(
      async () => {
        const { status, body } = await answer(address, '/api/v1/runs')
        return status === 200 && JSON.stringify(body).includes(RUN_ID)
      },
      { what: 'the run to be indexed and served', timeout: 60_000 },
    )
    await until(
      async () => {
        const { status, body } = await answer(address, '/api/v1/topics/demo.orders')
        const { groups = [], messagesPublished = 0 } = body as { groups?: unknown[]; messagesPublished?: number }
        return status === 200 && groups.length === 3 && messagesPublished > 0
      },
      { what: 'the demonstration with its three groups', timeout: 60_000 },
    )
    const services = JSON.stringify((await answer(address, '/api/v1/pipeline')).body)
    assert.match(services, /"simulation"/)
    await fetch(`${address}/api/v1/pipeline/clear-errors`, { method: 'POST' })
    command.kill('SIGINT')
    const { code, out } = await command.ended
    assert.equal(code, 0)
    assert.equal(JSON.parse(out.trim().split('\n').at(-1) ?? '').event, 'ended')
    await assert.rejects(fetch(address))
    assert.match(readFileSync(join(folder.path, 'server.log'), 'utf8'), /INFO {2}server started url=http/)
    assert.match(readFileSync(join(folder.path, 'audit.jsonl'), 'utf8'), /"action":"clearPipelineErrors"/)

    // What is left is served without the pipeline.
    await using served = startTidemark(['serve', '--data', folder.path, '--port', '0'])
    const again = await addressOf(served)
    assert.match(JSON.stringify((await answer(again, '/api/v1/runs')).body), new RegExp(RUN_ID))
    assert.notEqual((await answer(again, '/api/v1/pipeline')).status, 200)
    served.kill('SIGTERM')
    assert.equal((await served.ended).code, 0)
  })
})

describe('stopping and restarting over HTTP', () => {
  const post = async (address: string, path: string): Promise<number> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${address}/api/v1/pipeline${path}`, { method: 'POST', headers, body: '{}' })).status
  }
  const tickAt = async (address: string): Promise<number> => {
    const { body } = await answer(address, '/api/v1/pipeline/services/simulation')
    return (body as { metrics: { tick?: number } }).metrics.tick ?? 0
  }

  it('stops, starts and restarts; only Ctrl-C ends the process', async () => {
    using folder = temporaryFolder()
    const args = ['start', '--data', folder.path, '--port', '0', '--json', '--no-demo']
    await using command = startTidemark(args, { environment: SETTINGS })
    const address = await addressOf(command)
    const simulation = '/services/simulation'
    for (const path of [
      '/stop',
      '/start',
      '/restart',
      `${simulation}/stop`,
      `${simulation}/start`,
      `${simulation}/restart`,
    ]) {
      const before = await tickAt(address)
      assert.equal(await post(address, path), 200, path)
      if (path.endsWith('stop')) {
        const shown = command.out.split('\n').length
        await until(() => command.out.split('\n').length > shown, { what: `the process to go on after ${path}` })
        continue
      }
      await until(async () => (await tickAt(address)) > before, { what: `ticks after ${path}` })
    }
    command.kill('SIGINT')
    assert.equal((await command.ended).code, 0, command.err)
  })

  it('leaves a run with a last tick to be finished by the next start, and ends with it', async () => {
    using folder = temporaryFolder()
    const args = ['start', '--data', folder.path, '--port', '0', '--json', '--ticks', '150']
    await using command = startTidemark(args, { environment: SETTINGS })
    const address = await addressOf(command)
    await until(async () => (await tickAt(address)) > 10, { what: 'the first ticks' })
    assert.equal(await post(address, '/stop'), 200)
    const shown = command.out.split('\n').length
    await until(() => command.out.split('\n').length > shown, { what: 'the process to go on' })
    assert.equal(await post(address, '/start'), 200)
    const { code, out, err } = await command.ended
    assert.equal(code, 0, err)
    assert.equal(JSON.parse(out.trim().split('\n').at(-1) ?? '').ticks, 151)
  })
})

describe('tidemark start --ingest', () => {
  it('indexes and serves the ticks that come over HTTP', async () => {
    using folder = temporaryFolder()
    const args = ['start', '--data', folder.path, '--port', '0', '--json', '--ingest', RUN_ID]
    await using command = startTidemark(args)
    const address = await addressOf(command)
    const send = async (path: string, type: string, body: Uint8Array | string): Promise<number> =>
      (await fetch(`${address}${path}`, { method: 'POST', headers: { 'content-type': type }, body })).status
    const metadata = JSON.stringify(metadataOf(RUN_ID))
    assert.equal(await send('/api/v1/ingest/metadata', 'application/json', metadata), 202)
    const ticks = delimited(ticksOf(RUN_ID, 0, 29))
    assert.equal(await send('/api/v1/ingest', 'application/x-protobuf', ticks), 202)
    await until(
      async () => {
        const { body } = await answer(address, `/api/v1/runs/${RUN_ID}`)
        return (body as { indexed?: { environment?: { ticks: number } } }).indexed?.environment?.ticks === 30
      },
      { what: 'the ticks to be indexed', timeout: 60_000 },
    )
    command.kill('SIGINT')
    assert.equal((await command.ended).code, 0)
  })

  it('waits for the metadata as long as it takes, begins with any first tick, and accepts no other run', async () => {
    using folder = temporaryFolder()
    const args = ['start', '--data', folder.path, '--port', '0', '--json', '--ingest', 'new']
    await using command = startTidemark(args)
    const address = await addressOf(command)
    const { runId } = JSON.parse(command.out.split('\n')[0] ?? '')
    const send = async (path: string, type: string, body: Uint8Array | string): Promise<number> =>
      (await fetch(`${address}${path}`, { method: 'POST', headers: { 'content-type': type }, body })).status
    const ticks = (of: string) => send('/api/v1/ingest', 'application/x-protobuf', delimited(ticksOf(of, 10, 29)))
    assert.equal(await ticks(runId), 202)
    assert.equal(await ticks(RUN_ID), 400)
    assert.equal(await send('/api/v1/ingest/metadata', 'application/json', JSON.stringify(metadataOf(RUN_ID))), 400)
    type Status = { name: string; state: string; healthy: boolean; waitingFor: string | null }
    const indexer = async (): Promise<Status | undefined> => {
      const { body } = await answer(address, '/api/v1/pipeline')
      return (body as { services: Status[] }).services.find(({ name }) => name === 'environment-indexer')
    }
    await until(async () => (await indexer())?.state === 'WAITING', { what: 'the indexer to wait' })
    const { healthy, waitingFor } = (await indexer()) ?? {}
    assert.deepEqual([healthy, waitingFor], [true, `the metadata of run ${runId}`])
    assert.equal((await answer(address, '/health')).status, 200)
    assert.equal(await send('/api/v1/ingest/metadata', 'application/json', JSON.stringify(metadataOf(runId))), 202)
    await until(
      async () => {
        const { body } = await answer(address, `/api/v1/runs/${runId}`)
        return (body as { indexed?: { environment?: { ticks: number } } }).indexed?.environment?.ticks === 20
      },
      { what: 'the ticks to be indexed', timeout: 60_000 },
    )
    assert.deepEqual((await answer(address, `/api/v1/runs/${runId}/gaps`)).body, { gaps: [], next: null })
    command.kill('SIGINT')
    assert.equal((await command.ended).code, 0)
  })

  it('reports conflicting options', async () => {
    const wrong = await tidemarkHere(['start', '--ingest', 'a-run'])
    assert.equal(wrong.code, EXIT.usage)
    assert.match(wrong.err, /must be a run id or 'new'/)
    const both = await tidemarkHere(['start', '--ingest', 'new', '--ticks', '5'])
    assert.equal(both.code, EXIT.usage)
    assert.match(both.err, /--ingest can't be combined with --ticks/)
  })
})

describe('the usual port', () => {
  it('is the next free one if it is taken, as the address shows', async () => {
    await using database = await (ENGINES[0] ?? assert.fail()).fresh()
    await (await open(database.url, { maintenance: false, logger: QUIET })).close()
    const other = createServer()
    // Somebody else's, if it is not ours: taken is taken.
    await new Promise<void>(resolve => other.once('error', () => resolve()).listen(4680, '127.0.0.1', resolve))
    await using command = startTidemark(['serve'], { database: database.url })
    const address = await addressOf(command)
    assert.doesNotMatch(address, /:4680$/)
    assert.equal((await answer(address, '/api/v1/topics')).status, 200)
    other.close()
  })
})

describe('tidemark serve', () => {
  it('requires the tokens of the environment, and shows them nowhere', async () => {
    await using database = await (ENGINES[0] ?? assert.fail()).fresh()
    await (await open(database.url, { maintenance: false, logger: QUIET })).close()
    const token = 'a-token-for-administrators'
    const environment = { TIDEMARK_ADMIN_TOKEN: token }
    await using command = startTidemark(['serve', '--port', '0'], { database: database.url, environment })
    const address = await addressOf(command)
    assert.equal((await answer(address, '/api/v1/topics')).status, 401)
    assert.equal((await answer(address, '/api/v1/topics', token)).status, 200)
    command.kill('SIGINT')
    const { code, out, err } = await command.ended
    assert.equal(code, 0)
    assert.ok(!`${out}${err}`.includes(token))
    const short = await tidemark(['serve'], {
      database: database.url,
      environment: { TIDEMARK_ADMIN_TOKEN: 'hunter2' },
    })
    assert.equal(short.code, EXIT.usage)
    assert.doesNotMatch(short.err, /hunter2/)
  })

  it('takes the address of the indexes from the environment, which shows no password to other users', async () => {
    using folder = temporaryFolder()
    const environment = { TIDEMARK_INDEX: `sqlite:${folder.path}` }
    await using command = startTidemark(['serve', '--port', '0'], { environment })
    assert.equal((await answer(await addressOf(command), '/api/v1/runs')).status, 200)
    command.kill('SIGINT')
    assert.equal((await command.ended).code, 0)
  })

  it('reports it if a given port is taken, or there is nothing to serve', async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'app.db')}`
    assert.equal((await tidemark(['serve'], { database })).code, EXIT.failed)
    const nothing = await tidemark(['serve', '--data', folder.path])
    assert.equal(nothing.code, EXIT.failed)
    assert.match(nothing.err, /there is nothing to serve/)
    await (await open(database, { maintenance: false, logger: QUIET })).close()
    const other = createServer()
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    const taken = await tidemark(['serve', '--port', String(port)], { database })
    other.close()
    assert.equal(taken.code, EXIT.failed)
    assert.match(taken.err, new RegExp(`${port}`))
    const exposed = await tidemark(['serve', '--host', '0.0.0.0'], { database })
    assert.equal(exposed.code, EXIT.usage)
    assert.match(exposed.err, /without tokens only 127\.0\.0\.1/)
  })
})

describe('tidemark start with ticks of a file that is damaged', () => {
  it('indexes what came before the damage, says what is wrong, and ends with 1', async () => {
    using folder = temporaryFolder()
    const cwd = folder.path
    writeFileSync(join(cwd, 'metadata.json'), JSON.stringify(metadataOf(RUN_ID)))
    writeFileSync(
      join(cwd, 'ticks.pb'),
      Buffer.concat([delimited(ticksOf(RUN_ID, 0, 24)), Buffer.from([3, 255, 255, 255])]),
    )
    writeFileSync(
      join(cwd, 'tidemark.config.ts'),
      `import { defaultConfig, defineConfig, queue } from '@tidemark/pipeline'
const whole = defaultConfig()
const { simulation, ...services } = whole.services
export default defineConfig({ ...whole, services: {
  ingest: {
    type: 'ingest',
    options: { input: './ticks.pb', metadataFile: './metadata.json' },
    bindings: { ticks: queue('ticks'), metadata: queue('metadata') },
  },
  ...services,
} })`,
    )
    const { code, out, err } = await startTidemark(
      ['start', '--config', 'tidemark.config.ts', '--no-server', '--json'],
      { cwd },
    ).ended
    assert.equal(code, 1, err)
    assert.match(err, /ticks\.pb.*message 25/)
    assert.equal(JSON.parse(out.trim().split('\n').at(-1) ?? '').ticks, 25)
  })
})
