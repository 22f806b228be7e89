import { temporaryFolder } from '../../testing/folders.ts'
import type { Checkpoint, Stage } from './frame/checkpoint.ts'
import { atLeast, atMost, type Criterion, holds } from './frame/criterion.ts'
import { bareTicksPerSecond } from './pipeline/bare-simulation.ts'
import { type SeenProgress, StartedPipeline } from './pipeline/started-pipeline.ts'

const SIMULATION = 'TIDEMARK_PIPELINE__SERVICES__SIMULATION__'
const FULL_SPEED = { [`${SIMULATION}TICKS_PER_SECOND`]: '1000000' }
const LAG_SECONDS = 30
/** Lags of single batches come and go. */
const SLACK_BATCHES = 20
/**
 * Of the simulation alone, on one core: a tick is also stored, read and indexed four times. On a machine with two
 * cores the pipeline reaches a quarter to a third.
 */
const SHARE_OF_BARE = 0.1

type World = { readonly name: string; readonly shape?: readonly number[] }
const WORLDS: readonly World[] = [{ name: 'world of npm start' }, { name: 'small world', shape: [60, 40] }]

/** `npm start` with the simulation as fast as it goes: what is stored must also be indexed, or stored less quickly. */
export const pipelineThroughput: Checkpoint = {
  name: 'pipeline-throughput',
  about: 'the whole of npm start at full speed: every indexer keeps up, or the source is slowed',
  engines: ['sqlite'],
  seconds: { scaled: 150, full: 7_400 },
  async run(stage) {
    const runs = []
    for (const world of WORLDS) runs.push(await runWorld(stage, world))
    return {
      criteria: runs.flatMap(({ criteria }) => criteria),
      figures: Object.fromEntries(runs.map(({ name, figures }) => [name, figures])),
    }
  },
}

async function runWorld(stage: Stage, world: World) {
  const { name, shape } = world
  stage.phase(`${name}: the simulation alone`)
  const before = bareTicksPerSecond(shape, stage.pick(3, 10))
  const { seen, last, drained, errors, from } = await runAtFullSpeed(stage, world)
  stage.phase(`${name}: the simulation alone, once more`)
  // The lower one: the machine may have got other work meanwhile.
  const bare = Math.min(before, bareTicksPerSecond(shape, stage.pick(3, 10)))
  return {
    name,
    criteria: judge(name, { bare, seen, last, drained }),
    figures: {
      bareTicksPerSecond: bare,
      progress: seen.map(({ at, tick, storedTicks, indexers, waitingFor, slowedBy }) => ({
        second: Math.round((at - from) / 1_000),
        ...{ tick, storedTicks, waitingFor, slowedBy },
        waiting: Object.fromEntries(
          indexers.map(({ name, waitingBatches, ticks }) => [name, { waitingBatches, ticks }]),
        ),
      })),
      errors,
    },
  }
}

async function runAtFullSpeed(stage: Stage, { name, shape }: World) {
  using folder = temporaryFolder()
  const settings = { ...FULL_SPEED, ...(shape && { [`${SIMULATION}SHAPE`]: JSON.stringify(shape) }) }
  await using pipeline = new StartedPipeline(folder.path, settings)
  stage.phase(`${name}: npm start, as fast as it goes`)
  await pipeline.url
  await stage.pause(stage.pick(12, 60))
  const from = performance.now()
  stage.phase(`${name}: at full speed`)
  await stage.pause(stage.pick(36, 3_400))
  const to = performance.now()
  stage.phase(`${name}: the source is paused; the indexers do the rest`)
  await pipeline.pause('simulation')
  const isDone = (): boolean => {
    const { last } = pipeline
    return last !== undefined && last.at > to + 3_000 && last.queuedTicks === 0 && last.waitingBatches === 0
  }
  // Only a wait: on a busy machine it takes longer, and nothing may be missing at its end.
  const drained = await stage.within(stage.pick(180, 600), isDone)
  const seen = pipeline.seen.filter(({ at }) => at >= from && at <= to)
  const last = pipeline.last
  if (last === undefined || seen.length === 0)
    throw new Error(`npm start reported no progress:\n${pipeline.errors.join('\n')}`)
  return { seen, last, drained, from, errors: pipeline.errors.slice(0, 20) }
}

type Seen = {
  readonly bare: number
  /** At full speed. */
  readonly seen: readonly SeenProgress[]
  readonly last: SeenProgress
  readonly drained: number | null
}

function judge(world: string, { bare, seen, last, drained }: Seen): Criterion[] {
  const [middle, late] = [seen.slice(0, seen.length / 2), seen.slice(seen.length / 2)]
  const perSecond = (read: (progress: SeenProgress) => number): number => {
    const [first, end] = [seen[0], seen.at(-1)]
    if (first === undefined || end === undefined || first === end) return 0
    return ((read(end) - read(first)) * 1_000) / (end.at - first.at)
  }
  const slowed = seen.filter(({ slowedBy }) => slowedBy !== null).length
  return [
    atLeast(bare * SHARE_OF_BARE, {
      name: `${world}: ticks a second in every index`,
      value: perSecond(({ indexedTicks }) => indexedTicks),
      unit: '/s',
      note:
        `the simulation alone made ${bare.toFixed(0)} a second just before or after, on one core; limit ${SHARE_OF_BARE} of it. ` +
        `${perSecond(({ storedTicks }) => storedTicks).toFixed(0)} a second were stored; the source was slowed at ${slowed} of ${seen.length} looks`,
    }),
    ...last.indexers.map(({ name }) => keepsUp(world, name, middle, late)),
    atMost(LAG_SECONDS, {
      name: `${world}: age of the oldest batch that waits for an indexer, at any time`,
      value: Math.max(...seen.map(({ waitingMs }) => waitingMs)) / 1_000,
      unit: 's',
    }),
    holds(drained !== null && last.indexers.every(({ ticks }) => ticks === last.storedTicks), {
      name: `${world}: every stored tick is in every index after the source was paused`,
      figure: `${Math.min(...last.indexers.map(({ ticks }) => ticks))} of ${last.storedTicks}`,
      ...(drained !== null && { note: `${drained.toFixed(1)} s after the pause` }),
    }),
    holds(last.deadLetters + last.permanentGaps === 0, {
      name: `${world}: no dead letters, no permanent gaps`,
      figure: `${last.deadLetters} and ${last.permanentGaps}`,
      limit: '0',
    }),
  ]
}

/** Its backlog is no larger in the second half than in the first. */
function keepsUp(
  world: string,
  name: string,
  middle: readonly SeenProgress[],
  late: readonly SeenProgress[],
): Criterion {
  const mean = (of: readonly SeenProgress[]): number => {
    const waiting = of.map(({ indexers }) => indexers.find(each => each.name === name)?.waitingBatches ?? 0)
    return waiting.reduce((sum, each) => sum + each, 0) / Math.max(1, waiting.length)
  }
  const [before, after] = [mean(middle), mean(late)]
  return atMost(before * 1.2 + SLACK_BATCHES, {
    name: `${world}: ${name} keeps up: batches that wait, second half`,
    value: after,
    note: `${before.toFixed(1)} in the first half (means)`,
  })
}
