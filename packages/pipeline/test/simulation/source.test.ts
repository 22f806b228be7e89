import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import type { Tick } from '../../src/index.ts'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation, resumeSimulation } from '../../src/sources/simulation/simulation.ts'
import { SimulationSource, type TickSink } from '../../src/sources/simulation/simulation-source.ts'
import { fingerprint, RUN, stepMany } from './worlds.ts'

const world = { seed: 'source', shape: [20, 20] } as const

/** Takes everything at once and remembers it. */
function collector(): TickSink & { readonly ticks: Tick[] } {
  const ticks: Tick[] = []
  return { ticks, put: async tick => void ticks.push(tick) }
}

const numbersOf = (ticks: readonly Tick[]): number[] => ticks.map(({ tick }) => tick)

describe('a source', () => {
  it('emits every tick that the sampling interval divides, including tick 0, up to maxTicks', async () => {
    const sink = collector()
    const simulation = createSimulation(world)
    const source = new SimulationSource({ simulation, runId: RUN, sink, samplingInterval: 10, maxTicks: 45 })
    await source.run()
    assert.deepEqual(numbersOf(sink.ticks), [0, 10, 20, 30, 40])
    assert.equal(simulation.tick, 45)
    assert.equal(source.lastTick, 40)
    assert.equal(source.state, 'STOPPED')
    const alone = createSimulation(world)
    for (const tick of sink.ticks) {
      stepMany(alone, tick.tick - alone.tick)
      assert.equal(fingerprint(tick), fingerprint(alone.snapshot(RUN)))
    }
  })

  it('waits for the sink before it steps on', async () => {
    const simulation = createSimulation(world)
    const waiting: { tick: number; take: () => void }[] = []
    const put = ({ tick }: Tick): Promise<void> => new Promise(take => waiting.push({ tick, take }))
    const run = new SimulationSource({ simulation, runId: RUN, sink: { put }, maxTicks: 3 }).run()
    for (let tick = 0; tick <= 3; tick++) {
      const next = await until(() => waiting[tick], { what: `tick ${tick}` })
      await new Promise(setImmediate) // A source that did not wait would use this turn.
      assert.equal(waiting.length, tick + 1)
      assert.equal(simulation.tick, tick)
      next.take()
    }
    await run
  })

  it('ends with the error of the sink, and can run again', async () => {
    const simulation = createSimulation(world)
    const sink = collector()
    const failing: TickSink = {
      put: async (tick, signal) => {
        if (tick.tick === 5 && simulation.tick === 5 && !hasFailed) {
          hasFailed = true
          throw new Error('disk full')
        }
        await sink.put(tick, signal)
      },
    }
    let hasFailed = false
    const source = new SimulationSource({ simulation, runId: RUN, sink: failing, maxTicks: 8 })
    await assert.rejects(source.run(), /disk full/)
    assert.equal(source.state, 'STOPPED')
    assert.equal(source.lastTick, 4)
    await source.run()
    assert.equal(source.lastTick, 8)
  })

  it('refuses to run twice at once', async () => {
    const source = new SimulationSource({
      simulation: createSimulation(world),
      runId: RUN,
      sink: collector(),
      maxTicks: 5,
    })
    const run = source.run()
    await assert.rejects(source.run(), { name: 'SimulationError' })
    await run
  })

  it('yields to the event loop while it runs at full speed', async () => {
    const stop = new AbortController()
    const source = new SimulationSource({ simulation: createSimulation(world), runId: RUN, sink: collector() })
    let turns = 0
    const count = (): void => {
      if (++turns < 20) setImmediate(count)
      else stop.abort()
    }
    setImmediate(count)
    await source.run({ signal: stop.signal })
    assert.equal(turns, 20)
  })
})

describe('a paused source', () => {
  it('pauses, and continues with the same ticks', async () => {
    const ticks: Tick[] = []
    const pauses = [0, 50, 120, 399]
    const put = async (tick: Tick): Promise<void> => {
      ticks.push(tick)
      if (pauses.includes(tick.tick)) void source.pause()
    }
    const simulation = createSimulation(world)
    const source = new SimulationSource({ simulation, runId: RUN, sink: { put }, maxTicks: 400 })
    const run = source.run()
    for (const tick of pauses) {
      await until(() => source.state === 'PAUSED', { what: `the pause at tick ${tick}` })
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
      assert.deepEqual([simulation.tick, source.lastTick], [tick, tick], 'it stands still, and the sink has the tick')
      source.resume()
      await until(() => simulation.tick > tick, { what: `tick ${tick + 1}` })
    }
    await run
    assert.deepEqual(numbersOf(ticks), [...Array(401).keys()])
    const last = ticks.at(-1)
    assert.ok(last)
    assert.equal(fingerprint(last), fingerprint(stepMany(createSimulation(world), 400).snapshot(RUN)))
  })

  it('can be stopped', async () => {
    const stop = new AbortController()
    const simulation = createSimulation(world)
    const source = new SimulationSource({ simulation, runId: RUN, sink: collector() })
    const run = source.run({ signal: stop.signal })
    await source.pause()
    assert.equal(source.state, 'PAUSED')
    stop.abort()
    await run
    assert.equal(source.state, 'STOPPED')
  })
})

describe('a stopped source', () => {
  it('stops even while the sink is full', async () => {
    const stop = new AbortController()
    const asked: AbortSignal[] = []
    const full: TickSink = {
      put: (_tick, signal) => {
        asked.push(signal)
        return new Promise(() => {})
      },
    }
    const source = new SimulationSource({ simulation: createSimulation(world), runId: RUN, sink: full })
    const run = source.run({ signal: stop.signal })
    await until(() => asked.length === 1, { what: 'the first put' })
    stop.abort()
    await run
    assert.equal(source.lastTick, null)
    assert.equal(asked[0]?.aborted, true)
  })

  it('emits nothing if it was stopped before', async () => {
    const sink = collector()
    const source = new SimulationSource({ simulation: createSimulation(world), runId: RUN, sink })
    await source.run({ signal: AbortSignal.abort() })
    assert.deepEqual(sink.ticks, [])
  })

  for (const samplingInterval of [1, 7]) {
    it(`continues from its saved state as if it had never stopped, sampling every ${samplingInterval}`, async () => {
      const stop = new AbortController()
      const sink = collector()
      const simulation = createSimulation(world)
      const source = new SimulationSource({ simulation, runId: RUN, sink, samplingInterval })
      const run = source.run({ signal: stop.signal })
      await until(() => simulation.tick > 100, { what: 'tick 100' })
      stop.abort()
      await run
      const resumed = resumeSimulation(simulation.saveState())
      const maxTicks = simulation.tick + 70
      await new SimulationSource({ simulation: resumed, runId: RUN, sink, samplingInterval, maxTicks }).run()

      const count = Math.floor(maxTicks / samplingInterval) + 1
      assert.deepEqual(
        numbersOf(sink.ticks),
        Array.from({ length: count }, (_, index) => index * samplingInterval),
      )
      const last = sink.ticks.at(-1)
      assert.ok(last)
      assert.equal(fingerprint(last), fingerprint(stepMany(createSimulation(world), last.tick).snapshot(RUN)))
    })
  }
})

describe('a source with a limit', () => {
  it('does not exceed its maximum rate', async () => {
    const source = new SimulationSource({
      simulation: createSimulation(world),
      runId: RUN,
      sink: collector(),
      ticksPerSecond: 200,
      maxTicks: 41,
    })
    const started = performance.now()
    await source.run()
    // 41 ticks have 40 intervals of 5 ms between them; a timer may fire a millisecond early.
    assert.ok(performance.now() - started >= 198)
  })

  it('ends its wait when it is stopped', async () => {
    const stop = new AbortController()
    const sink = collector()
    const source = new SimulationSource({ simulation: createSimulation(world), runId: RUN, sink, ticksPerSecond: 0.01 })
    const run = source.run({ signal: stop.signal })
    await until(() => sink.ticks.length === 2, { what: 'the tick before the wait' })
    stop.abort()
    await run
  })
})

describe('a source that is stepped', () => {
  const start = (options: { readonly ticksPerSecond?: number; readonly maxTicks?: number } = {}) => {
    const stop = new AbortController()
    const sink = collector()
    const simulation = createSimulation(world)
    const source = new SimulationSource({ simulation, runId: RUN, sink, ...options })
    return { sink, simulation, source, stop, run: source.run({ signal: stop.signal }) }
  }

  it('makes exactly so many ticks, whether it ran or stood still, and stands still then', async () => {
    const { sink, simulation, source, stop, run } = start()
    await until(() => simulation.tick > 10, { what: 'tick 10' })
    await source.pause()
    const from = simulation.tick
    assert.deepEqual(await Promise.all([source.step(3), source.step(1), source.step(500)]), [3, 1, 500])
    assert.deepEqual([simulation.tick, source.state, sink.ticks.at(-1)?.tick], [from + 504, 'PAUSED', from + 504])
    source.resume()
    await until(() => simulation.tick > from + 600, { what: 'it to go on' })
    assert.equal(await source.step(2), 2)
    assert.equal(source.state, 'PAUSED')
    assert.equal(sink.ticks.at(-1)?.tick, simulation.tick)
    stop.abort()
    await run
    assert.equal(await source.step(1), 0)
  })

  it('makes fewer where the run ends first, or is stopped', async () => {
    const ended = start({ maxTicks: 5 })
    assert.equal(await ended.source.step(100), 5)
    ended.source.resume()
    await ended.run
    const stopped = start()
    const step = stopped.source.step(Number.MAX_SAFE_INTEGER)
    await until(() => stopped.simulation.tick > 5, { what: 'a few ticks' })
    stopped.stop.abort()
    await stopped.run
    assert.ok((await step) >= 5)
  })

  it('waits for no pace, and takes another one at once', async () => {
    const { simulation, source, stop, run } = start({ ticksPerSecond: 0.001 })
    await until(() => simulation.tick === 1, { what: 'the tick before the wait' })
    assert.equal(await source.step(20), 20)
    source.resume()
    await until(() => simulation.tick === 22, { what: 'the next wait' })
    source.setSpeed(null)
    await until(() => simulation.tick > 100, { what: 'full speed' })
    source.setSpeed(0.001)
    await source.pause()
    assert.throws(() => source.setSpeed(0), { code: 'TIDEMARK_SIMULATION_OPTION' })
    stop.abort()
    await run
  })
})
