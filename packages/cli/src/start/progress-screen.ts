import { styleText } from 'node:util'
import { type PipelineProgress, sizeText } from '@tidemark/pipeline'
import { counted } from '../output/counted.ts'
import { megabytes, timeLeft } from '../output/units.ts'

export type Begun = {
  /** '' if it is not known before it begins. */
  readonly runId: string
  readonly url: string | undefined
  readonly configFile: string | undefined
}

/** The lines that the terminal shows. */
export function screenLines(
  { runId, url, configFile }: Begun,
  progress: PipelineProgress,
  problems: readonly string[],
): string[] {
  const { services, openGaps, permanentGaps, waitingBatches, waitingMs } = progress
  const gaps = `${openGaps} open, ${permanentGaps} permanent`
  return [
    `${styleText('bold', 'Tidemark')}  run ${styleText('cyan', runId || 'not started yet')}  Ctrl-C to stop`,
    ...(configFile === undefined ? [] : [`configuration ${styleText('cyan', configFile)}`]),
    ...(url === undefined ? [] : [`open ${styleText('cyan', url)}`]),
    '',
    row('simulation', `tick ${progress.tick}`, perSecond(progress.ticksPerSecond), `${progress.alive} organisms alive`),
    row('queue', counted(progress.queuedTicks, 'tick'), '', megabytes(progress.queuedBytes)),
    row(
      'stored',
      counted(progress.storedTicks, 'tick'),
      `${megabytes(progress.bytesPerSecond)}/s`,
      `${progress.storedBatches} batches, ${megabytes(progress.storedBytes)}`,
    ),
    row(
      'indexed',
      counted(progress.indexedTicks, 'tick'),
      perSecond(progress.indexedPerSecond),
      counted(progress.indexedBatches, 'batch', 'batches'),
    ),
    row(
      'lag',
      counted(waitingBatches, 'batch', 'batches'),
      '',
      [`oldest ${(waitingMs / 1_000).toFixed(1)} s`, ...slowedText(progress)].join(', '),
    ),
    row('gaps', openGaps + permanentGaps === 0 ? gaps : styleText('red', gaps), '', ''),
    row('dead letters', String(progress.deadLetters), '', ''),
    diskRow(progress.disk),
    '',
    services.map(({ name, state, healthy }) => styleText(colourOf(state, healthy), name)).join('  '),
    ...waitsOf(services).map(text => styleText('yellow', text)),
    '',
    ...(problems.length === 0 ? [styleText('dim', 'no errors')] : problems.map(text => styleText('yellow', text))),
  ]
}

const slowedText = ({ slowedBy }: PipelineProgress): string[] =>
  slowedBy === null ? [] : [`the source is slowed for ${slowedBy}`]

/** Disk usage, its growth, and when the limit is reached. */
function diskRow(disk: PipelineProgress['disk']): string {
  const { bytesPerSecond, secondsLeft, freeBytes, paused } = disk
  const left = paused ? ['paused'] : secondsLeft === null ? [] : [`${timeLeft(secondsLeft)} left`]
  const free = freeBytes === null ? [] : [`${sizeText(freeBytes)} free`]
  const used = usedText(disk)
  // Longer than the values of other rows, so it gets its own width.
  const value = paused ? styleText('red', used) : used
  return `${styleText('dim', 'disk'.padEnd(14))}${value}${' '.repeat(Math.max(2, 20 - used.length))}${`${megabytes(bytesPerSecond)}/s`.padEnd(
    14,
  )}${[...left, ...free].join(', ')}`
}

const usedText = ({ bytes, maxBytes }: PipelineProgress['disk']): string =>
  maxBytes === null ? sizeText(bytes) : `${sizeText(bytes)} of ${sizeText(maxBytes)}`

/** Nothing while it does not grow. */
function growthText({ bytesPerSecond, secondsLeft, paused }: PipelineProgress['disk']): string[] {
  if (paused) return ['(paused)']
  if (bytesPerSecond === 0) return []
  const left = secondsLeft === null ? '' : `, ${timeLeft(secondsLeft)} left`
  return [`(+${megabytes(bytesPerSecond)}/s${left})`]
}

/** The advice was logged once, when the wait began. */
const firstSentence = (text: string): string => text.split('. ', 1)[0] ?? text

/** The same in one line, for logs. */
export function plainLine(progress: PipelineProgress): string {
  const { tick, ticksPerSecond, storedBatches, indexedBatches, waitingBatches, openGaps, permanentGaps } = progress
  // Waiting services are listed below, with what they wait for.
  const unwell = progress.services.filter(
    ({ state, healthy, waitingFor }) => state === 'ERROR' || (!healthy && waitingFor === null),
  )
  return [
    `tick ${tick} (${perSecond(ticksPerSecond)})`,
    `${counted(storedBatches, 'batch', 'batches')} stored, ${indexedBatches} indexed, ${waitingBatches} waiting`,
    `${openGaps + permanentGaps} gaps`,
    ['disk', usedText(progress.disk), ...growthText(progress.disk)].join(' '),
    ...unwell.map(({ name, state }) => `${name}: ${state === 'ERROR' ? state : `${state}, unhealthy`}`),
    ...slowedText(progress),
    ...waitsOf(progress.services).map(firstSentence),
  ].join('  ')
}

/** 'environment-indexer, organism-indexer wait for the index database': one line per cause. */
function waitsOf(services: PipelineProgress['services']): string[] {
  const byThing = Map.groupBy(
    services.filter(({ waitingFor }) => waitingFor !== null),
    ({ waitingFor }) => waitingFor,
  )
  return [...byThing].map(([thing, waiting]) => {
    const verb = waiting.length === 1 ? 'waits' : 'wait'
    return `${waiting.map(({ name }) => name).join(', ')} ${verb} for ${thing}`
  })
}

const row = (what: string, value: string, rate: string, more: string): string =>
  `${styleText('dim', what.padEnd(14))}${value.padEnd(20)}${rate.padEnd(14)}${more}`

const perSecond = (rate: number): string => `${rate.toFixed(0)}/s`

function colourOf(state: string, healthy: boolean): 'red' | 'green' | 'yellow' | 'dim' {
  if (state === 'ERROR') return 'red'
  if (!healthy || state === 'PAUSED' || state === 'STARTING' || state === 'WAITING') return 'yellow'
  return state === 'STOPPED' ? 'dim' : 'green'
}
