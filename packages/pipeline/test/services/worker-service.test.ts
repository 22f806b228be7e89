import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import {
  checkConfig,
  type Pipeline,
  queue,
  WorkerDiedError,
  WorkerReportedError,
  WorkerSilentError,
} from '../../src/index.ts'
import { range } from '../storage/ticks.ts'
import { SILENT } from './loggers.ts'
import { collected, runConfig, stateOf } from './pipelines.ts'

const COLLECTOR = './scripts/collector.ts'
const MISBEHAVING = './scripts/misbehaving.ts'

/** A simulation in a thread, and a collector here. */
async function simulating(folder: string, options: object = {}, limits: object = {}): Promise<Pipeline> {
  return await runConfig({
    resources: { queues: { ticks: limits } },
    services: {
      collector: { type: COLLECTOR, bindings: { ticks: queue('ticks') }, options: { file: join(folder, 'ticks.txt') } },
      simulation: {
        type: 'simulation',
        thread: true,
        bindings: { ticks: queue('ticks') },
        options: { seed: 'thread', shape: [20, 20], stateFolder: join(folder, 'state'), ...options },
      },
    },
  })
}

async function misbehave(way: string, logger = SILENT): Promise<Pipeline> {
  return await runConfig(
    {
      services: {
        other: { type: MISBEHAVING, options: { way: 'log' } },
        bad: { type: MISBEHAVING, thread: true, options: { way } },
      },
    },
    logger,
  )
}

describe('a simulation in a thread', () => {
  it('delivers every tick, in order, through a small queue, and ends', async () => {
    using folder = temporaryFolder()
    await using pipeline = await simulating(folder.path, { maxTicks: 500 }, { maxItems: 5 })
    assert.deepEqual(pipeline.report.failed, [])
    await until(() => stateOf(pipeline, 'simulation') === 'STOPPED', { what: 'its end' })
    await pipeline.stop()
    assert.deepEqual(
      collected(join(folder.path, 'ticks.txt')).map(({ tick }) => tick),
      range(0, 501),
    )
    assert.equal(pipeline.services.statusOf('simulation').metrics.tick, 500)
  })

  it('is paused, resumed, stopped and continued exactly where it was', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'ticks.txt')
    await using pipeline = await simulating(folder.path)
    const taken = (): number => pipeline.services.statusOf('collector').metrics.taken ?? 0
    await until(() => taken() > 50, { what: 'some ticks' })
    pipeline.services.pause('simulation')
    assert.equal(stateOf(pipeline, 'simulation'), 'PAUSED')
    const made = () => pipeline.services.statusOf('simulation').metrics
    await until(() => made().standsStill === 1, { what: 'it to stand still' })
    // All that it made until then, and nothing that it made later.
    const before = (made().tick ?? 0) + 1
    await until(() => taken() >= before, { what: 'what was on its way' })
    assert.equal(taken(), before)
    assert.equal(made().tick, before - 1)
    pipeline.services.resume('simulation')
    await until(() => taken() > before, { what: 'it to go on' })
    await pipeline.services.restart('simulation')
    const atRestart = taken()
    await until(() => taken() > atRestart + 50, { what: 'it to go on after the restart' })
    await pipeline.stop()
    assert.equal(stateOf(pipeline, 'simulation'), 'STOPPED')
    const ticks = collected(file)
    assert.deepEqual(
      ticks.map(({ tick }) => tick),
      range(0, ticks.length),
    )
    assert.equal(new Set(ticks.map(({ runId }) => runId)).size, 1)
  })

  it('is not allowed for a service that drains a queue', async () => {
    await using pipeline = await runConfig({
      resources: { queues: { ticks: {} } },
      services: {
        collector: { type: COLLECTOR, thread: true, bindings: { ticks: queue('ticks') }, options: { file: 'x' } },
      },
    })
    assert.match(pipeline.report.failed[0]?.error.message ?? '', /thread.*it takes from a queue \(ticks\)/)
  })
})

describe('a thread that', () => {
  const statusOf = (pipeline: Pipeline) => pipeline.services.statusOf('bad')

  for (const [way, kind, message] of [
    ['exit', WorkerDiedError, /'bad' ended with code 7/],
    ['uncaught', WorkerDiedError, /'bad' failed: nobody caught it/],
    ['throw', WorkerReportedError, /it broke in the thread/],
  ] as const) {
    it(`dies by ${way} is an ERROR of its service only, which starts again`, async () => {
      await using pipeline = await misbehave(way)
      await until(() => statusOf(pipeline).state === 'ERROR', { what: 'the error' })
      const [{ error } = {}] = statusOf(pipeline).errors
      assert.ok(error instanceof kind, String(error))
      assert.match(error.message, message)
      assert.equal(stateOf(pipeline, 'other'), 'RUNNING')
      const { started, failed } = await pipeline.services.start('bad')
      // It may die again before its start was seen to succeed.
      if (failed.length > 0) assert.ok(failed[0]?.error instanceof kind, String(failed[0]?.error))
      else assert.deepEqual(started, ['bad'])
    })
  }

  it('cannot start rejects the start with the reason', async () => {
    await using pipeline = await misbehave('fail-start')
    const [{ error } = {}] = pipeline.report.failed
    assert.ok(error instanceof WorkerReportedError)
    assert.deepEqual([error.kind, error.message], ['RangeError', 'it does not want to start'])
    assert.match(error.stack ?? '', /misbehaving\.ts/)
    assert.equal(stateOf(pipeline, 'bad'), 'ERROR')
  })

  it('hangs is ended after its stop timeout', async () => {
    await using pipeline = await misbehave('hang')
    await pipeline.services.stop('bad', { timeoutMs: 100 })
    assert.equal(stateOf(pipeline, 'bad'), 'ERROR')
    assert.match(statusOf(pipeline).errors[0]?.error.message ?? '', /did not stop within 100 ms/)
    await until(() => statusOf(pipeline).errors.length > 1, { what: 'the end of the thread' })
    assert.deepEqual((await pipeline.services.start('bad')).started, ['bad'])
    await pipeline.services.stop('bad', { timeoutMs: 100 })
  })

  it('no longer responds is unhealthy until it responds again', async () => {
    await using pipeline = await misbehave('freeze')
    assert.equal(statusOf(pipeline).healthy, true)
    const silent = await until(() => !statusOf(pipeline).healthy && statusOf(pipeline), { what: 'the silence' })
    assert.ok(silent.errors[0]?.error instanceof WorkerSilentError)
    assert.match(silent.errors[0].error.message, /'bad' has not responded for 10 s\. Restart the service/)
    await until(() => statusOf(pipeline).healthy, { what: 'its word again' })
    assert.deepEqual(statusOf(pipeline).errors, [])
  })

  it('reports a failure and continues, with its metrics', async () => {
    await using pipeline = await misbehave('report')
    const status = await until(() => statusOf(pipeline).errors.length > 0 && statusOf(pipeline), { what: 'the report' })
    assert.equal(status.state, 'RUNNING')
    assert.deepEqual(
      status.errors.map(({ action, error }) => [action, error.message]),
      [['a small thing', 'it goes on']],
    )
    await until(() => statusOf(pipeline).metrics.isHere === 1, { what: 'its metrics' })
  })

  it('logs to the outside', async () => {
    const lines: unknown[] = []
    const logger = { ...SILENT, warn: (fields: object, message: string) => void lines.push([fields, message]) }
    await using _pipeline = await runConfig(
      { services: { bad: { type: MISBEHAVING, thread: true, options: { way: 'log' } } } },
      logger,
    )
    await until(() => lines.length > 0, { what: 'the line' })
    assert.deepEqual(lines, [[{ detail: 7 }, 'a line from the thread']])
  })
})

it('a checked configuration can be sent to a thread', () => {
  const config = checkConfig({ services: { a: { type: MISBEHAVING } } }, '/x')
  assert.deepEqual(structuredClone(config), config)
})
