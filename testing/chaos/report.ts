/** What a run prints: a line that is overwritten while it goes on, a verdict, and the table of the rare paths. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { PipelineResult } from './pipeline/run-pipeline.ts'
import { RARE_PATHS } from './rare-paths.ts'
import type { RunResult } from './run.ts'

/** Of one rule. */
const MOST_SHOWN = 3

export class ProgressLine {
  readonly #started = performance.now()
  readonly #name: string
  #text = ''
  readonly #timer: NodeJS.Timeout

  constructor(name: string) {
    this.#name = name
    this.#timer = setInterval(() => this.#draw(), 1_000)
  }

  show(text: string): void {
    this.#text = text
    if (process.stdout.isTTY) this.#draw()
    else console.log(`  ${this.#seconds} s  ${text}`)
  }

  end(): void {
    clearInterval(this.#timer)
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
  }

  get #seconds(): string {
    return ((performance.now() - this.#started) / 1_000).toFixed(0).padStart(3)
  }

  #draw(): void {
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${this.#name}  ${this.#seconds} s  ${this.#text}`)
  }
}

export function printRun(result: RunResult): void {
  const { engine, seed, totals, violations, unreached, missing, events } = result
  const mark = violations.length > 0 ? '✖' : unreached.length > 0 ? '?' : '✔'
  const faults = events.filter(({ done }) => done).length
  console.log(
    `${mark} ${engine} seed ${seed}: ${faults} faults, ${totals.kills} kills, ${totals.published} published, ` +
      `${totals.deliveries} deliveries, ${totals.acks} acks`,
  )
  for (const each of missing) console.log(`  not possible here: ${each}`)
  for (const path of unreached) console.log(`  never ran: ${path}`)
  for (const [rule, all] of Map.groupBy(violations, violation => violation.rule)) {
    for (const { what } of all.slice(0, MOST_SHOWN)) console.log(`  ${rule}: ${what}`)
    if (all.length > MOST_SHOWN) console.log(`  ${rule}: ${all.length - MOST_SHOWN} more`)
  }
  const key = violations.find(violation => violation.key !== undefined)?.key
  if (key !== undefined) console.log([`  History of ${key}:`, ...result.historyOf(key)].join('\n  '))
}

export function printPipeline({ engine, seed, turns, violations }: PipelineResult): void {
  console.log(`${violations.length > 0 ? '✖' : '✔'} pipeline ${engine} seed ${seed}: ${turns.join(', ')}`)
  for (const { rule, what } of violations) console.log(`  ${rule}: ${what}`)
}

/** How often each path ran, by engine; the first rows must not be 0. */
export function printPaths(results: readonly RunResult[]): void {
  const engines = [...new Set(results.map(({ engine }) => engine))]
  const paths = [...new Set([...RARE_PATHS, ...results.flatMap(result => Object.keys(result.paths))])]
  const width = Math.max(...paths.map(path => path.length))
  console.log(`\n${'path'.padEnd(width)}  ${engines.map(engine => engine.padStart(10)).join('')}`)
  for (const path of paths) {
    const counts = engines.map(engine =>
      results.filter(result => result.engine === engine).reduce((sum, { paths }) => sum + (paths[path] ?? 0), 0),
    )
    console.log(`${path.padEnd(width)}  ${counts.map(count => String(count).padStart(10)).join('')}`)
  }
}

export function writeJson(file: string, content: object): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`)
  console.log(`\n${file}`)
}
