/**
 * The whole pipeline in a process of its own: index, topics and storage are taken away in turns, the process is killed, and a
 * torn batch file appears. At the end its index must be that of an undisturbed run of the same simulation (invariants 8
 * and 9), and the torn file must be in quarantine.
 */
import { copyFileSync, existsSync, globSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openIndex } from '@tidemark/pipeline'
import { expectedRows, RUN_ID, startProcess, tickRows } from '../../../packages/pipeline/test/whole/world.ts'
import { dumpOf } from '../../index-dump.ts'
import type { Script } from '../../processes.ts'
import { SeededRandom } from '../../seeded-random.ts'
import type { Violation } from '../check/violation.ts'
import type { Engine } from '../world.ts'
import { createPipelinePlace, LAST_TICK, type PipelinePlace } from './pipeline-place.ts'

export const TURNS = ['index', 'topics', 'storage', 'kill', 'torn-batch'] as const

type Turn = (typeof TURNS)[number]

export type PipelineOptions = {
  readonly engine: Engine
  readonly seed: number
  readonly seconds: number
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
}

export type PipelineResult = {
  readonly engine: Engine
  readonly seed: number
  readonly turns: readonly Turn[]
  readonly violations: readonly Violation[]
}

const LONGEST_GAP_MS = 1_200
const SHORTEST_MS = 500
const LONGEST_MS = 2_500
const FINISH_MS = 180_000
/** Ticks that the simulation never reaches. */
const TORN = 'batch_0000000000000090000_0000000000000090019'

export async function runPipeline(options: PipelineOptions): Promise<PipelineResult> {
  const random = new SeededRandom(options.seed)
  options.onProgress('pipeline: starting')
  await using place = await createPipelinePlace(options.engine)
  const turns = await disturb(place, random, options)
  options.onProgress('pipeline: finishing')
  const violations = await finish(place, turns.includes('torn-batch'), options)
  return { engine: options.engine, seed: options.seed, turns, violations }
}

/** Every turn comes once before any comes again. */
async function disturb(place: PipelinePlace, random: SeededRandom, options: PipelineOptions): Promise<Turn[]> {
  const done: Turn[] = []
  let process = startProcess(place.folder, [], place.settings)
  let waiting: Turn[] = []
  try {
    await process.waitForLine(/^run /, FINISH_MS)
    const end = performance.now() + options.seconds * 1_000
    while (performance.now() < end) {
      await delay(random.below(LONGEST_GAP_MS), undefined, { signal: options.signal })
      if (waiting.length === 0) waiting = shuffled(random)
      const turn = waiting.pop()
      if (turn === undefined || (turn === 'torn-batch' && done.includes(turn))) continue
      options.onProgress(`pipeline: ${turn}`)
      if (turn === 'torn-batch' && !tearBatch(place)) continue
      if (turn === 'kill' || turn === 'torn-batch') process = await restart(process, place)
      else await takeAway(place, turn, SHORTEST_MS + random.below(LONGEST_MS - SHORTEST_MS))
      done.push(turn)
    }
    return done
  } finally {
    await process[Symbol.asyncDispose]()
  }
}

async function takeAway(place: PipelinePlace, turn: 'index' | 'topics' | 'storage', ms: number): Promise<void> {
  const take = { index: place.takeIndex, topics: place.takeTopics, storage: place.takeStorage }[turn]
  const giveBack = await take()
  await delay(ms)
  await giveBack()
}

async function restart(process: Script, place: PipelinePlace): Promise<Script> {
  await process[Symbol.asyncDispose]()
  return startProcess(place.folder, [], place.settings)
}

/** A copy of a stored batch, cut in half, under the name of one that was never announced. */
function tearBatch({ storage }: PipelinePlace): boolean {
  const [stored] = globSync(join(storage, RUN_ID, 'raw/*/*/batch_*')).sort()
  if (stored === undefined || !existsSync(stored)) return false
  const torn = stored.replace(/batch_\d+_\d+/, TORN)
  copyFileSync(stored, torn)
  truncateSync(torn, 200)
  return true
}

async function finish(place: PipelinePlace, hasTorn: boolean, { signal }: PipelineOptions): Promise<Violation[]> {
  await using process = startProcess(place.folder, [], place.settings)
  const timer = setTimeout(() => process.kill('SIGKILL'), FINISH_MS)
  const interrupt = (): void => process.kill('SIGKILL')
  signal.addEventListener('abort', interrupt)
  const { code } = await process.exited
  clearTimeout(timer)
  signal.removeEventListener('abort', interrupt)
  signal.throwIfAborted()
  if (code !== 0) {
    const lines = process.errorLines.slice(-8).join('\n')
    return [
      { rule: 'stuck', what: `the pipeline did not finish within ${FINISH_MS / 1_000} s of the last fault\n${lines}` },
    ]
  }
  return [...(await compareIndexes(place)), ...(hasTorn ? findTorn(place) : [])]
}

async function compareIndexes(place: PipelinePlace): Promise<Violation[]> {
  await using undisturbed = await createPipelinePlace('sqlite')
  await using alone = startProcess(undisturbed.folder, [], {
    ...undisturbed.settings,
    TIDEMARK_PIPELINE__SERVICES__SIMULATION__TICKS_PER_SECOND: '10000',
  })
  await alone.exited
  const expected = await linesOf(undisturbed)
  const found = await linesOf(place)
  const rows = expectedRows(LAST_TICK)
  const isSame = JSON.stringify(found.rows) === JSON.stringify(rows)
  const lacking = new Set(expected.lines).difference(new Set(found.lines))
  const extra = new Set(found.lines).difference(new Set(expected.lines))
  const violation = (what: string): Violation => ({ rule: 'pipeline', what })
  return [
    ...(isSame ? [] : [violation(`the index has ${found.rows.length} ticks, and ${rows.length} were simulated`)]),
    ...[...lacking].slice(0, 3).map(line => violation(`the index lacks ${line.slice(0, 200)}`)),
    ...[...extra]
      .slice(0, 3)
      .map(line => violation(`the index has, unlike that of an undisturbed run, ${line.slice(0, 200)}`)),
  ]
}

/** Without the torn batch, which no undisturbed run has. */
async function linesOf({ index: address }: PipelinePlace): Promise<{ lines: string[]; rows: unknown[] }> {
  await using index = await openIndex(address, RUN_ID, { create: false })
  const lines = (await dumpOf(index)).toString().split('\n')
  return { lines: lines.filter(line => !/90000|90019/.test(line)), rows: await tickRows(index) }
}

function findTorn({ storage }: PipelinePlace): Violation[] {
  const quarantined = globSync(join(storage, RUN_ID, `quarantine/${TORN}*`))
  return quarantined.length > 0 ? [] : [{ rule: 'pipeline', what: 'the torn batch file was not quarantined' }]
}

function shuffled(random: SeededRandom): Turn[] {
  return TURNS.map(turn => ({ turn, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ turn }) => turn)
}
