import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { faultsFor, helpText, parseOptions } from './options.ts'
import { RARE_PATHS } from './rare-paths.ts'
import { type Event, scheduleOf } from './schedule.ts'

const shown = (events: readonly Event[]): string =>
  events.map(({ at, fault, seed }) => `${at} ${fault.name} ${seed}`).join('\n')

describe('the schedule of faults', () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    it(`is a function of the seed, on ${engine}`, () => {
      const faults = faultsFor(engine, undefined)
      assert.equal(shown(scheduleOf(7, 60_000, faults)), shown(scheduleOf(7, 60_000, faults)))
      assert.notEqual(shown(scheduleOf(7, 60_000, faults)), shown(scheduleOf(8, 60_000, faults)))
    })

    it(`has every fault of ${engine} in a minute, and in the short form those of the rare paths`, () => {
      const faults = faultsFor(engine, undefined)
      for (let seed = 0; seed < 20; seed++) {
        const names = new Set(scheduleOf(seed, 60_000, faults).map(({ fault }) => fault.name))
        assert.deepEqual(
          faults.filter(({ name }) => !names.has(name)).map(({ name }) => name),
          [],
        )
        const { seconds } = parseOptions(['--short'])
        const reached = new Set(scheduleOf(seed, seconds * 1_000, faults).flatMap(({ fault }) => fault.reaches))
        assert.deepEqual(
          RARE_PATHS.filter(path => !reached.has(path)),
          ['dead letters'],
          'every run has bad messages',
        )
      }
    })
  }
})

describe('the options of npm run chaos', () => {
  it('name what is wrong', () => {
    assert.throws(() => parseOptions(['--engine', 'oracle']), /--engine is 'oracle'; allowed: sqlite, postgres/)
    assert.throws(() => parseOptions(['--faults', 'kill,earthquake']), /--faults names 'earthquake'/)
    assert.throws(() => parseOptions(['--seconds', 'ten']), /--seconds is 'ten'/)
    assert.throws(() => parseOptions(['--events', '1,2']), /--events needs one --seed/)
  })

  it('take consecutive seeds', () => {
    assert.deepEqual(parseOptions(['--seed', '5', '--seeds', '3']).seeds, [5, 6, 7])
  })

  it('are all described by --help', () => {
    for (const option of [
      '--engine',
      '--seed ',
      '--seeds',
      '--seconds',
      '--faults',
      '--events',
      '--short',
      '--mutants',
      '--json',
    ])
      assert.ok(helpText([]).includes(option), option)
  })
})
