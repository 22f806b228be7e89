/**
 * The whole pipeline in a process of its own: index, topics and storage are taken away in turns, the process is killed, and a
 * torn batch file appears. At the end its index must be that of an undisturbed run of the same simulation (invariants 8
 * and 9), and the torn file must be in quarantine.
 */
import { copyFileSync, existsSync, globSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openIndex } from '@tidemark/pipeline'
import {
  expectedRows,
  RUN_ID,
  simulationOption,
  startProcess,
  tickRows,
} from '../../../packages/pipeline/test/whole/world.ts'
import { countRows, dumpOf } from '../../index-dump.ts'
import type { Script } from '../../processes.ts'
import { SeededRandom } from '../../seeded-random.ts'
import type { Violation } from '../check/violation.ts'
import type { Engine } from '../world.ts'
import { createPipelinePlace, type PipelinePlace, TICKS_PER_SECOND } from './pipeline-place.ts'
import { PipelineProcess } from './pipeline-process.ts'

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
/** Without any progress, which a busy machine only takes longer for. */
const STUCK_MS = 180_000
const LOOK_MS = 2_000
/** As fast as it goes. */
const AT_FULL_SPEED = simulationOption('TICKS_PER_SECOND', 10_000)
/** Ticks that the simulation never reaches, and that belong into the folder of its first ones. */
const TORN_TICKS = [90_000, 90_019]
const TORN = `batch_${TORN_TICKS.map(tick => String(tick).padStart(19, '0')).join('_')}`

export async function runPipeline(options: PipelineOptions): Promise<PipelineResult> {
  const { engine, seed, seconds, onProgress } = options
  const random = new SeededRandom(seed)
  onProgress('pipeline: starting')
  // At its pace it can't be done before the last fault.
  const lastTick = seconds * TICKS_PER_SECOND
  await using place = await createPipelinePlace(engine, lastTick)
  const { turns, ended } = await disturb(place, random, options)
  onProgress('pipeline: finishing')
  const violations = await finish(place, lastTick, turns.includes('torn-batch'), options)
  return { engine, seed, turns, violations: [...ended.map(endedEarly), ...violations] }
}

const endedEarly = (what: string): Violation => ({ rule: 'process ended', what })

/** Every turn comes once before any comes again. */
async function disturb(
  place: PipelinePlace,
  random: SeededRandom,
  options: PipelineOptions,
): Promise<{ turns: Turn[]; ended: readonly string[] }> {
  const turns: Turn[] = []
  await using pipeline = new PipelineProcess(place)
  let waiting: Turn[] = []
  await pipeline.ready(options.signal)
  const end = performance.now() + options.seconds * 1_000
  while (performance.now() < end) {
    await delay(random.below(LONGEST_GAP_MS), undefined, { signal: options.signal })
    if (waiting.length === 0) waiting = shuffled(random)
    const turn = waiting.pop()
    if (turn === undefined || (turn === 'torn-batch' && turns.includes(turn))) continue
    options.onProgress(`pipeline: ${turn}`)
    if (turn === 'torn-batch' && !tearBatch(place)) continue
    if (turn === 'kill' || turn === 'torn-batch') await pipeline.restart()
    else await takeAway(place, turn, SHORTEST_MS + random.below(LONGEST_MS - SHORTEST_MS))
    turns.push(turn)
  }
  return { turns, ended: pipeline.ended }
}

async function takeAway(place: PipelinePlace, turn: 'index' | 'topics' | 'storage', ms: number): Promise<void> {
  const take = { index: place.takeIndex, topics: place.takeTopics, storage: place.takeStorage }[turn]
  const giveBack = await take()
  await delay(ms)
  await giveBack()
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

async function finish(
  place: PipelinePlace,
  lastTick: number,
  hasTorn: boolean,
  { signal }: PipelineOptions,
): Promise<Violation[]> {
  await using process = startProcess(place.folder, [], { ...place.settings, ...AT_FULL_SPEED })
  const interrupt = (): void => process.kill('SIGKILL')
  signal.addEventListener('abort', interrupt)
  const ended = await Promise.race([process.exited, whenStuck(place, process)])
  signal.removeEventListener('abort', interrupt)
  signal.throwIfAborted()
  const lines = process.errorLines.slice(-8).join('\n')
  if (ended === undefined) {
    return [{ rule: 'stuck', what: `the pipeline has got no further for ${STUCK_MS / 1_000} s\n${lines}` }]
  }
  if (ended.code !== 0) return [endedEarly(`the pipeline ended with ${ended.signal ?? `code ${ended.code}`}\n${lines}`)]
  return [...(await compareIndexes(place, lastTick)), ...(hasTorn ? findTorn(place) : [])]
}

/** Resolves when nothing was stored or indexed for so long; never if the process ends before. */
async function whenStuck(place: PipelinePlace, process: Script): Promise<undefined> {
  const exited = new AbortController()
  void process.exited.then(() => exited.abort())
  let most = -1
  let end = 0
  for (;;) {
    const count = await progressOf(place)
    if (count > most) [most, end] = [count, performance.now() + STUCK_MS]
    if (performance.now() > end) return undefined
    const isOver = await delay(LOOK_MS, false, { signal: exited.signal }).catch(() => true)
    if (isOver) return await new Promise(() => {})
  }
}

/** Batches stored, and rows of the index. */
async function progressOf({ storage, index: address }: PipelinePlace): Promise<number> {
  const stored = globSync(join(storage, RUN_ID, 'raw/*/*/batch_*')).length
  try {
    await using index = await openIndex(address, RUN_ID, { create: false })
    return stored + (await countRows(index))
  } catch {
    return stored // There is no index yet.
  }
}

async function compareIndexes(place: PipelinePlace, lastTick: number): Promise<Violation[]> {
  await using undisturbed = await createPipelinePlace('sqlite', lastTick)
  await using alone = startProcess(undisturbed.folder, [], { ...undisturbed.settings, ...AT_FULL_SPEED })
  await alone.exited
  const expected = await linesOf(undisturbed)
  const found = await linesOf(place)
  const rows = expectedRows(lastTick)
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
  const torn = [TORN, ...TORN_TICKS.map(tick => `"${tick}"`)]
  return { lines: lines.filter(line => !torn.some(text => line.includes(text))), rows: await tickRows(index) }
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
