import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseArguments } from '../../bench/checkpoints/arguments.ts'
import { CHECKPOINTS } from '../../bench/checkpoints/checkpoints.ts'
import type { Checkpoint } from '../../bench/checkpoints/frame/checkpoint.ts'
import { above, atLeast, atMost, below, holds } from '../../bench/checkpoints/frame/criterion.ts'
import { Progress } from '../../bench/checkpoints/frame/progress.ts'
import { runCheckpoint } from '../../bench/checkpoints/frame/run-checkpoint.ts'
import { formatVerdict, hasPassed } from '../../bench/checkpoints/frame/verdict.ts'
import { longestStall } from '../../bench/checkpoints/load/longest-stall.ts'
import { SeenNumbers } from '../../bench/checkpoints/load/seen-numbers.ts'
import { temporaryFolder } from '../folders.ts'

const NAMES = [
  'fanout-amplification',
  'kill-and-resurrect',
  'backfill-vs-oltp',
  'multi-tenant',
  'partitions',
  'held-transaction',
  'restart-storm',
  'slow-consumer',
  'soak',
  'pipeline-throughput',
]

describe('a criterion', () => {
  it('is met on its own side of the limit', () => {
    const measured = { name: 'claim p95', value: 10, unit: 'ms' } as const
    assert.deepEqual(
      [below(10, measured), atMost(10, measured), above(10, measured), atLeast(10, measured)].map(each => each.passed),
      [false, true, false, true],
    )
  })

  it('fails where the figure was not reached or is no number', () => {
    assert.equal(atMost(10, { name: 'drained', value: null, unit: 's' }).passed, false)
    assert.equal(atMost(10, { name: 'drained', value: null, unit: 's' }).figure, 'not reached')
    for (const judge of [below, atMost, above, atLeast])
      assert.equal(judge(10, { name: 'p95', value: Number.NaN }).passed, false)
  })

  it('has its figure and its limit in words', () => {
    const { figure, limit } = below(20, { name: 'bloat', value: 12.3456, unit: '%' })
    assert.deepEqual([figure, limit], ['12.3 %', '< 20 %'])
    assert.equal(above(500, { name: 'clean-up', value: 12_345.6, unit: '/s' }).figure, '12,346/s')
  })
})

describe('a verdict', () => {
  const good = holds(true, { name: 'nothing lost', figure: '0 lost' })
  const bad = below(10, { name: 'claim p95', value: 12, unit: 'ms', note: 'of 100 claims' })

  it('names what failed, with its figure', () => {
    const text = formatVerdict([good, bad])
    assert.match(text, /ok {2}nothing lost +0 lost +yes/)
    assert.match(text, /FAIL claim p95 +12 ms +< 10 ms\n +of 100 claims/)
    assert.match(text, /FAILED: 1 of 2 criteria are not met: claim p95\.$/)
  })

  it('passes only if something was judged', () => {
    assert.equal(hasPassed([good]), true)
    assert.equal(hasPassed([good, bad]), false)
    assert.equal(hasPassed([]), false)
    assert.match(formatVerdict([good]), /PASSED: all 1 criteria are met\.$/)
  })
})

describe('the checkpoints', () => {
  it('are the ten of the specification and the issue, with a scaled run of at most three minutes', () => {
    assert.deepEqual(CHECKPOINTS.map(({ name }) => name).sort(), [...NAMES].sort())
    for (const { name, seconds } of CHECKPOINTS) assert.ok(seconds.scaled <= 180 && seconds.full > seconds.scaled, name)
  })

  it('are chosen by name, on an engine that they run on', () => {
    const asked = parseArguments(['soak', '--engine', 'sqlite', '--full'], CHECKPOINTS)
    assert.deepEqual([asked.checkpoints.map(({ name }) => name), asked.engine, asked.full], [['soak'], 'sqlite', true])
    assert.throws(() => parseArguments(['partition'], CHECKPOINTS), /no checkpoint 'partition'. There are: fanout-/)
    assert.throws(() => parseArguments(['partitions', '--engine', 'sqlite'], CHECKPOINTS), /on postgres only/)
    assert.throws(() => parseArguments(['soak', '--engine', 'oracle'], CHECKPOINTS), /not 'oracle'/)
    assert.throws(() => parseArguments([], CHECKPOINTS), /Name a checkpoint/)
    assert.throws(
      () => parseArguments(['soak', 'partitions', '--json', 'a.json'], CHECKPOINTS),
      /one checkpoint at a time/,
    )
  })
})

const tiny = (run: Checkpoint['run']): Checkpoint => ({
  name: 'tiny',
  about: 'one publish',
  engines: ['sqlite'],
  seconds: { scaled: 1, full: 2 },
  run,
})
const quiet = { phase() {} }

describe('a run', () => {
  it('writes its report, with every criterion and figure, and removes its database', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'deep', 'report.json')
    let url = ''
    const checkpoint = tiny(async stage => {
      const database = await stage.database()
      url = database.url
      assert.equal(stage.pick('short', 'long'), 'short')
      assert.equal(await stage.within(0.1, () => false), null)
      assert.ok(((await stage.within(5, () => true)) ?? 9) < 5)
      return { criteria: [below(1, { name: 'lost', value: 2 })], figures: { published: 7 } }
    })
    const { signal } = new AbortController()
    const report = await runCheckpoint(checkpoint, { engine: 'sqlite', full: false, signal, progress: quiet, file })
    assert.equal(report.passed, false)
    const written = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual(
      [written.checkpoint, written.engine, written.full, written.passed],
      ['tiny', 'sqlite', false, false],
    )
    assert.deepEqual(written.figures, { published: 7 })
    assert.equal(written.criteria[0].figure, '2')
    assert.equal(typeof written.machine.cores, 'number')
    assert.throws(() => readFileSync(url.slice('sqlite:'.length)), { code: 'ENOENT' })
  })

  it('ends at once when it is aborted, in whatever wait', async () => {
    using folder = temporaryFolder()
    for (const wait of ['pause', 'within'] as const) {
      const stopping = new AbortController()
      const checkpoint = tiny(async stage => {
        setImmediate(() => stopping.abort(new Error('Stopped')))
        if (wait === 'pause') await stage.pause(60)
        else await stage.within(60, () => false)
        return { criteria: [] }
      })
      const file = join(folder.path, 'report.json')
      const options = { engine: 'sqlite', full: false, signal: stopping.signal, progress: quiet, file } as const
      await assert.rejects(runCheckpoint(checkpoint, options), { name: 'AbortError' })
    }
  })
})

describe('progress', () => {
  it('is a bar on a terminal, and a line per phase elsewhere', () => {
    for (const isTTY of [true, false]) {
      const written: string[] = []
      using progress = new Progress(100, { isTTY, write: text => written.push(text) })
      progress.phase('publishing')
      assert.match(written.join(''), isTTY ? /░ +0 % {2}0 s {2}publishing$/ : /^ +0 s +0 % {2}publishing\n$/)
    }
  })
})

describe('the longest stall', () => {
  it('is the longest time in which the count did not grow', () => {
    const counts = [
      { at: 0, value: 1 },
      { at: 1_000, value: 2 },
      { at: 2_000, value: 2 },
      { at: 4_500, value: 3 },
    ]
    const series = { entries: () => counts }
    assert.equal(longestStall(series, 0, 5_000), 3.5)
    assert.equal(longestStall(series, 0, 10_000), 5.5)
    assert.equal(longestStall({ entries: () => [] }, 0, 2_000), 2)
  })
})

describe('seen numbers', () => {
  it('count each number once, whatever its size', () => {
    const seen = new SeenNumbers()
    for (const number of [0, 7, 8, 7, 100_000, 100_000, 3]) seen.add(number)
    assert.equal(seen.size, 5)
  })
})
