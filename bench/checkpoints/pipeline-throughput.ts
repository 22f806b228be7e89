import { temporaryFolder } from '../../testing/folders.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { above, atMost, type Criterion, holds } from './frame/criterion.ts'
import { type SeenProgress, StartedPipeline } from './pipeline/started-pipeline.ts'

const FULL_SPEED = { TIDEMARK_PIPELINE__SERVICES__SIMULATION__TICKS_PER_SECOND: '1000000' }
const LAG_SECONDS = 30
/** Lags of single batches come and go. */
const SLACK_BATCHES = 20

/** `npm start` with the simulation as fast as it goes: what is stored must also be indexed, or stored less quickly. */
export const pipelineThroughput: Checkpoint = {
  name: 'pipeline-throughput',
  about: 'the whole of npm start at full speed: every indexer keeps up, or the source is slowed',
  engines: ['sqlite'],
  seconds: { scaled: 120, full: 3_700 },
  async run(stage) {
    using folder = temporaryFolder()
    await using pipeline = new StartedPipeline(folder.path, FULL_SPEED)
    stage.phase('npm start, as fast as it goes')
    await pipeline.url
    await stage.pause(stage.pick(15, 60))
    const from = performance.now()
    stage.phase('at full speed')
    await stage.pause(stage.pick(75, 3_600))
    const to = performance.now()
    stage.phase('the source is paused; the indexers do the rest')
    await pipeline.pause('simulation')
    const isDone = (): boolean => {
      const { last } = pipeline
      return last !== undefined && last.at > to + 3_000 && last.queuedTicks === 0 && last.waitingBatches === 0
    }
    const drained = await stage.within(stage.pick(60, 300), isDone)
    const seen = pipeline.seen.filter(({ at }) => at >= from && at <= to)
    const [middle, late] = [seen.slice(0, seen.length / 2), seen.slice(seen.length / 2)]
    const last = pipeline.last
    if (last === undefined || seen.length === 0)
      throw new Error(`npm start reported no progress:\n${pipeline.errors.join('\n')}`)
    const perSecond = (read: (progress: SeenProgress) => number): number => {
      const [first, end] = [seen[0], seen.at(-1)]
      return first === undefined || end === undefined ? 0 : ((read(end) - read(first)) * 1_000) / (end.at - first.at)
    }
    const rate = perSecond(({ tick }) => tick)
    return {
      criteria: [
        above(0, {
          name: 'ticks a second, produced and stored',
          value: rate,
          unit: '/s',
          note: `${perSecond(({ indexedTicks }) => indexedTicks).toFixed(0)} a second indexed by the slowest indexer; reported, not judged`,
        }),
        ...last.indexers.map(({ name }) => keepsUp(name, middle, late)),
        atMost(LAG_SECONDS, {
          name: 'age of the oldest batch that waits for an indexer, at any time',
          value: Math.max(...seen.map(({ waitingMs }) => waitingMs)) / 1_000,
          unit: 's',
        }),
        holds(drained !== null && last.indexers.every(({ ticks }) => ticks === last.storedTicks), {
          name: 'every stored tick is in every index after the source was paused',
          figure: `${Math.min(...last.indexers.map(({ ticks }) => ticks))} of ${last.storedTicks}`,
          ...(drained !== null && { note: `${drained.toFixed(1)} s after the pause` }),
        }),
        holds(last.deadLetters + last.permanentGaps === 0, {
          name: 'no dead letters, no permanent gaps',
          figure: `${last.deadLetters} and ${last.permanentGaps}`,
          limit: '0',
        }),
      ],
      figures: {
        ticksPerSecond: rate,
        progress: pipeline.seen.map(({ at, tick, storedTicks, indexers, waitingFor }) => ({
          second: Math.round((at - from) / 1_000),
          ...{ tick, storedTicks, waitingFor },
          waiting: Object.fromEntries(
            indexers.map(({ name, waitingBatches, ticks }) => [name, { waitingBatches, ticks }]),
          ),
        })),
        errors: pipeline.errors.slice(0, 20),
      },
    }
  },
}

/** Its backlog is no larger in the second half than in the first. */
function keepsUp(name: string, middle: readonly SeenProgress[], late: readonly SeenProgress[]): Criterion {
  const mean = (of: readonly SeenProgress[]): number => {
    const waiting = of.map(({ indexers }) => indexers.find(each => each.name === name)?.waitingBatches ?? 0)
    return waiting.reduce((sum, each) => sum + each, 0) / Math.max(1, waiting.length)
  }
  const [before, after] = [mean(middle), mean(late)]
  return atMost(before * 1.2 + SLACK_BATCHES, {
    name: `${name} keeps up: batches that wait, second half`,
    value: after,
    note: `${before.toFixed(1)} in the first half (means)`,
  })
}
