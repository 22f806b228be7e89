import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { PipelineProgress } from '@tidemark/pipeline'
import { temporaryFolder } from '../../../testing/folders.ts'
import { until } from '../../../testing/until.ts'
import { unwatchProcess, watchProcess } from '../../../testing/watchdog.ts'
import { SMALL_AND_FAST, simulationOption } from '../../pipeline/test/whole/world.ts'
// What a terminal shows can't be had line by line through the command: it is drawn over and over.
import { plainLine, screenLines } from '../src/start/progress-screen.ts'
import { RecentProblems } from '../src/start/recent-problems.ts'
import { MAIN } from './command.ts'

const PROGRESS: PipelineProgress = {
  runId: 'some-run',
  state: 'ERROR',
  waitingFor: ['the index database'],
  services: [
    { name: 'persistence', state: 'RUNNING', healthy: true, waitingFor: null },
    { name: 'dummy-indexer', state: 'ERROR', healthy: false, waitingFor: null },
    { name: 'series-indexer', state: 'WAITING', healthy: false, waitingFor: 'the index database' },
  ],
  tick: 1_234,
  ticksPerSecond: 99.6,
  alive: 77,
  queuedTicks: 12,
  queuedBytes: 400_000,
  storedTicks: 1_200,
  storedBatches: 11,
  storedBytes: 5_500_000,
  bytesPerSecond: 700_000,
  indexers: [],
  indexedTicks: 1_100,
  indexedBatches: 10,
  indexedPerSecond: 98,
  waitingBatches: 3,
  waitingMs: 1_500,
  slowedBy: null,
  openGaps: 2,
  permanentGaps: 1,
  deadLetters: 4,
  disk: {
    healthy: true,
    bytes: 412_000_000,
    maxBytes: 2_000_000_000,
    freeBytes: 75_300_000_000,
    minFreeBytes: 256_000_000,
    bytesPerSecond: 1_800_000,
    secondsLeft: 870,
    paused: false,
    reason: null,
    pausedSince: null,
  },
}

const BEGUN = { runId: 'some-run', url: undefined, configFile: undefined }

describe('the screen', () => {
  it('shows ticks, batches, lag, rates, gaps, services and the last problems', () => {
    const slowed = { ...PROGRESS, slowedBy: 'organism-indexer' }
    const lines = screenLines(BEGUN, slowed, ['12:00:00  persistence: store: no']).map(stripVTControlCharacters)
    const text = lines.map(line => line.replaceAll(/\s+/g, ' ').trim())
    for (const expected of [
      'Tidemark run some-run Ctrl-C to stop',
      'simulation tick 1234 100/s 77 organisms alive',
      'queue 12 ticks 0.4 MB',
      'stored 1200 ticks 0.7 MB/s 11 batches, 5.5 MB',
      'indexed 1100 ticks 98/s 10 batches',
      'lag 3 batches oldest 1.5 s, the source is slowed for organism-indexer',
      'gaps 2 open, 1 permanent',
      'dead letters 4',
      'disk 412.0 MB of 2.00 GB 1.8 MB/s 15 min left, 75.30 GB free',
      'persistence dummy-indexer series-indexer',
      'series-indexer waits for the index database',
      '12:00:00 persistence: store: no',
    ]) {
      assert.ok(text.includes(expected), `${expected} in ${text.join('\n')}`)
    }
    assert.ok(screenLines(BEGUN, PROGRESS, []).some(line => line.includes('no errors')))
    const served = screenLines({ ...BEGUN, url: 'http://127.0.0.1:4680' }, PROGRESS, []).map(stripVTControlCharacters)
    assert.ok(served.includes('open http://127.0.0.1:4680'))
  })

  it('is one line without a terminal, and names unhealthy services', () => {
    const line =
      'tick 1234 (100/s)  11 batches stored, 10 indexed, 3 waiting  3 gaps  disk 412.0 MB of 2.00 GB (+1.8 MB/s, 15 min left)  dummy-indexer: ERROR  series-indexer waits for the index database'
    assert.equal(plainLine(PROGRESS), line)
  })

  it('repeats in that line what is waited for, without the advice', () => {
    const waitingFor = 'space in the disk budget of 20.0 MB: 17.6 MB are used. Start again with a larger maxDisk'
    const services = [{ name: 'simulation', state: 'RUNNING', healthy: true, waitingFor } as const]
    const disk = { ...PROGRESS.disk, paused: true, secondsLeft: 0 }
    const line = plainLine({ ...PROGRESS, services, disk })
    assert.match(line, /disk 412\.0 MB of 2\.00 GB \(paused\) {2}simulation waits for .* 20\.0 MB: 17\.6 MB are used$/)
  })
})

describe('problems', () => {
  it('are one line each, without control characters, and only the newest are kept', () => {
    const told: string[] = []
    const problems = new RecentProblems(text => told.push(text))
    for (let n = 0; n < 9; n++) {
      problems.logger.warn({ service: 's', action: `act ${n}`, err: new Error('two\nlines \x1b[2J\x07 and more') }, 'm')
    }
    problems.logger.info({}, 'not a problem')
    assert.equal(told.length, 9)
    assert.equal(told[8], 's: act 8: two lines [2J and more')
    assert.equal(problems.recent.length, 5)
    assert.match(problems.recent[4] ?? '', /^\d\d:\d\d:\d\d {2}s: act 8: /)
  })

  it('name the topic and the group, and say what belongs to the demonstration', () => {
    const told: string[] = []
    const { logger } = new RecentProblems(text => told.push(text))
    logger.warn({ topic: 't', group: 'series' }, 'an expired lease was taken over')
    logger.error({ topic: 'jobs', group: '' }, 'messages moved to the dead letters')
    logger.error({ topic: 'demo.orders', group: 'shipping' }, 'messages moved to the dead letters')
    assert.deepEqual(told, [
      't / series: an expired lease was taken over',
      'jobs: messages moved to the dead letters',
      'demo.orders / shipping: messages moved to the dead letters (demonstration)',
    ])
  })
})

const hasScript = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0

describe('npm start in a terminal', { skip: hasScript ? false : 'needs the command script of util-linux' }, () => {
  it('draws one screen over and over, and Ctrl-C stops it cleanly', async () => {
    using folder = temporaryFolder()
    // In the place of the shell, which would have the Ctrl-C too and end by it.
    const command = `exec '${process.execPath}' --conditions=tidemark-source '${MAIN}' start --no-server --data '${folder.path}'`
    const settings = { ...SMALL_AND_FAST, ...simulationOption('TICKS_PER_SECOND', 100), NODE_TEST_CONTEXT: undefined }
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { env: { ...process.env, ...settings } })
    watchProcess(terminal.pid ?? 0, 'SIGKILL')
    const ended = new Promise<number | null>(resolve => terminal.once('exit', resolve))
    let output = ''
    for (const stream of [terminal.stdout, terminal.stderr]) stream.on('data', chunk => (output += chunk))
    const frames = () => output.split('\x1b[?7l').slice(1)
    const isIndexing = () => /indexed\s+[1-9]\d* ticks/.test(stripVTControlCharacters(frames().at(-1) ?? ''))
    await until(() => frames().length > 3 && isIndexing(), {
      what: `a screen with indexed ticks: ${output.slice(-900)}`,
    })
    terminal.stdin.write('\x03')
    assert.equal(await ended, 0, output.slice(-900))
    unwatchProcess(terminal.pid ?? 0)
    const heights = frames().map(frame => frame.split('\n').length)
    // Each frame goes up by as many lines as the one before it drew.
    for (const [at, frame] of frames().entries()) {
      if (at > 0) assert.match(frame, new RegExp(`^\x1b\\[${(heights[at - 1] ?? 0) - 1}A`))
    }
    assert.match(stripVTControlCharacters(output), /indexed so far: \d+ ticks/)
  })
})
