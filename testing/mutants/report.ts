import { percent, type Result, type Score, scores, total } from './result.ts'

export function resultLine({ name, verdict, detail, seconds }: Result): string {
  return `${verdict.padEnd(9)} ${seconds.toFixed(1).padStart(6)} s  ${name}${detail === '' ? '' : `  [${detail}]`}`
}

/** On standard error, so that the results can be piped; only on a terminal. */
export function showProgress(results: readonly Result[], all: number, elapsedMs: number): void {
  if (!process.stderr.isTTY) return
  const { caught, tried } = total(results)
  const leftMinutes = ((elapsedMs / tried) * (all - tried)) / 60_000
  process.stderr.write(`${tried} of ${all} tried, ${caught} caught, about ${Math.ceil(leftMinutes)} min left\r`)
}

/** The score per area, then what was not caught. */
export function report(results: readonly Result[]): string {
  const missed = results.filter(({ verdict }) => verdict !== 'caught').map(resultLine)
  return [...[...scores(results), total(results)].map(scoreLine), ...missed].join('\n')
}

const scoreLine = (score: Score): string =>
  `${score.area.padEnd(14)} ${`${score.caught} of ${score.tried}`.padStart(10)}  ${percent(score).toFixed(0).padStart(3)} %`
