import { setTimeout as delay } from 'node:timers/promises'
import type { IndexTotals, PipelineProgress } from '@tidemark/pipeline'
import { counted } from '../output/counted.ts'
import type { Output } from '../output/output.ts'
import { Screen } from '../output/screen.ts'
import { type Begun, plainLine, screenLines } from './progress-screen.ts'

/** Reports the progress of `start`: to people at a terminal, to a log, or to a program. */
export type ProgressDisplay = {
  readonly everyMs: number
  begun(begun: Begun): void
  progress(progress: PipelineProgress, problems: readonly string[]): void
  problem(text: string): void
  ended(totals: IndexTotals): void
}

const FRAME_MS = 200
const LINE_MS = 2_000

export const displayFor = (output: Output): ProgressDisplay =>
  output.isLive ? screenDisplay(output) : streamDisplay(output)

function screenDisplay(output: Output): ProgressDisplay {
  const screen = new Screen()
  let about: Begun = { runId: '', url: undefined, configFile: undefined }
  return {
    everyMs: FRAME_MS,
    begun: begun => {
      about = begun
    },
    progress: (progress, problems) => screen.draw(screenLines(about, progress, problems)),
    // They are on the screen.
    problem: () => undefined,
    ended: totals => output.next(totals, () => totalsText(totals)),
  }
}

/** A line of text, or a JSON document, for each. */
const streamDisplay = (output: Output): ProgressDisplay => ({
  everyMs: LINE_MS,
  begun: ({ runId, url, configFile }) => {
    const config = configFile !== undefined && { config: configFile }
    output.result({ event: 'begun', runId, url: url ?? null, ...config }, () => [
      ...(configFile === undefined ? [] : [`configuration ${configFile}`]),
      // If no service here creates the run, it is found when it begins.
      runId === '' ? 'no run yet' : `run ${runId}`,
      ...(url === undefined ? [] : [`serving ${url}`]),
    ])
  },
  progress: progress => output.next({ event: 'progress', ...progress }, () => plainLine(progress)),
  problem: text => output.aside({ event: 'problem', text }, text),
  ended: totals => output.next({ event: 'ended', ...totals }, () => totalsText(totals)),
})

function totalsText({ ticks, batches, cells, organisms }: IndexTotals): string {
  const inside = cells === null ? '' : `, with ${counted(cells, 'cell')} and ${counted(organisms ?? 0, 'organism')}`
  return `indexed so far: ${counted(ticks, 'tick')} in ${counted(batches, 'batch', 'batches')}${inside}`
}

/** Shows the progress repeatedly. */
export async function showProgress(show: () => Promise<void>, everyMs: number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await show()
    await delay(everyMs, undefined, { signal: until }).catch(() => undefined)
  }
}
