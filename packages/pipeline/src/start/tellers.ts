import type { Progress } from './progress.ts'
import { plainLine, Screen, screenLines } from './screen.ts'
import type { Totals } from './totals.ts'

/** Who tells of a start as it goes: to people at a terminal, to a log, or to a program. */
export type Teller = {
  readonly everyMs: number
  begun(begun: Begun): void
  progress(progress: Progress, problems: readonly string[]): void
  problem(text: string): void
  ended(totals: Totals): void
}

export type Begun = {
  /** '' where it is not known before it begins. */
  readonly runId: string
  readonly url: string | undefined
  readonly configFile: string | undefined
}

const FRAME_MS = 200
const LINE_MS = 2_000

export function tellerFor(format: 'text' | 'json'): Teller {
  if (format === 'json') return jsonTeller()
  return process.stdout.isTTY ? screenTeller() : lineTeller()
}

function screenTeller(): Teller {
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
    ended: totals => console.log(totalsText(totals)),
  }
}

const lineTeller = (): Teller => ({
  everyMs: LINE_MS,
  begun: ({ runId, url, configFile }) => {
    if (configFile !== undefined) console.log(`configuration ${configFile}`)
    console.log(runOf(runId))
    if (url !== undefined) console.log(`serving ${url}`)
  },
  progress: progress => console.log(plainLine(progress)),
  problem: text => console.error(text),
  ended: totals => console.log(totalsText(totals)),
})

function jsonTeller(): Teller {
  const tell = (event: object): void => console.log(JSON.stringify(event))
  return {
    everyMs: LINE_MS,
    begun: ({ runId, url, configFile }) =>
      tell({ event: 'begun', runId, url: url ?? null, ...(configFile !== undefined && { config: configFile }) }),
    progress: progress => tell({ event: 'progress', ...progress }),
    problem: text => console.error(JSON.stringify({ event: 'problem', text })),
    ended: totals => tell({ event: 'ended', ...totals }),
  }
}

/** Nobody here makes one: it is found when it begins. */
const runOf = (runId: string): string => (runId === '' ? 'no run yet' : `run ${runId}`)

function totalsText({ ticks, batches, cells, organisms }: Totals): string {
  const counted = cells === null ? '' : `, with ${cells} cells and ${organisms} organisms`
  return `indexed so far: ${ticks} ticks of ${batches} batches${counted}`
}
