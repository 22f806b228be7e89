import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Organism } from '../../src/index.ts'
// Inside: the simulation step by step, without the service that paces and encodes it.
import { createSimulation } from '../../src/sources/simulation/simulation.ts'
import { fingerprint, RUN, stepMany } from './worlds.ts'

describe('a snapshot', () => {
  const simulation = stepMany(createSimulation({ seed: 'snapshot', startedAt: 1_000 }), 300)

  it('has the run, the tick, and the time of the world', () => {
    const { runId, tick, capturedAt } = simulation.snapshot(RUN)
    assert.deepEqual({ runId, tick, capturedAt }, { runId: RUN, tick: 300, capturedAt: 1_300 })
  })

  it('has the occupied cells by ascending flat index, in columns of one length', () => {
    const { flatIndex, ...columns } = simulation.snapshot(RUN).cells
    assert.ok(flatIndex.length > 1_000)
    assert.ok(flatIndex.every((cell, slot) => slot === 0 || cell > (flatIndex[slot - 1] ?? 0)))
    for (const column of Object.values(columns)) assert.equal(column.length, flatIndex.length)
    assert.deepEqual([...new Set(columns.moleculeType)].sort(), [1, 2, 3, 4])
  })

  it('does not change when the simulation continues and is read again', () => {
    const tick = simulation.snapshot(RUN)
    const before = fingerprint(tick)
    stepMany(simulation, 20).snapshot(RUN)
    assert.equal(fingerprint(tick), before)
  })
})

describe('lives', () => {
  it('begin with a parent known before, keep their facts, and end in exactly one tick', () => {
    const simulation = createSimulation({ seed: 'lives', shape: [40, 40] })
    const known = new Map<number, Organism>()
    const ended = new Set<number>()
    let ids: number[] = []
    for (let tick = 0; tick <= 1_500; tick++) {
      const { organisms } = simulation.snapshot(RUN)
      for (const organism of organisms) {
        assert.ok(!ended.has(organism.id), 'the dead stay for one tick')
        checkFacts(organism, known, tick)
        if (organism.isDead) ended.add(organism.id)
      }
      const present = organisms.map(organism => organism.id)
      assert.ok(
        ids.every(id => ended.has(id) || present.includes(id)),
        'nobody vanishes',
      )
      ids = present
      simulation.step()
    }
    assert.ok(known.size > 100 && ended.size > 100)
  })

  function checkFacts(organism: Organism, known: Map<number, Organism>, tick: number): void {
    const first = known.get(organism.id)
    if (first === undefined) {
      assert.equal(organism.birthTick, tick)
      assert.equal(organism.parentId === null, tick === 0, 'only founders have no parent')
      if (organism.parentId !== null) assert.ok(known.has(organism.parentId))
      known.set(organism.id, organism)
      return
    }
    assert.deepEqual(organism.genome, first.genome)
    const facts = ({ parentId, birthTick, lineage }: Organism) => ({ parentId, birthTick, lineage })
    assert.deepEqual(facts(organism), facts(first))
    if (organism.isDead) assert.equal(organism.energy, 0)
  }
})

describe('the metadata', () => {
  it('say how to recreate the same world', () => {
    const simulation = createSimulation({ seed: 'again', shape: [20, 10], topology: 'bounded', startedAt: 5 })
    const metadata = simulation.metadata(RUN, 10)
    assert.deepEqual(
      { ...metadata, settings: undefined },
      {
        runId: RUN,
        startedAt: 5,
        seed: 'again',
        samplingInterval: 10,
        environment: { shape: [20, 10], topology: 'bounded' },
        settings: undefined,
        moleculeTypes: ['empty', 'energy', 'structure', 'toxin', 'core'],
      },
    )
    const again = createSimulation(JSON.parse(metadata.settings))
    assert.equal(fingerprint(stepMany(again, 100).snapshot(RUN)), fingerprint(stepMany(simulation, 100).snapshot(RUN)))
  })
})
