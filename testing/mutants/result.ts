import { readFileSync, writeFileSync } from 'node:fs'
import type { FileRun } from './run-tests.ts'

export type Verdict = 'caught' | 'survived' | 'does not apply' | 'fails without it'

export type Result = {
  readonly area: string
  readonly name: string
  readonly verdict: Verdict
  /** The first test that failed, or what is wrong with the entry. */
  readonly detail: string
  readonly seconds: number
}

export type Score = { readonly area: string; readonly caught: number; readonly tried: number }

/** Neither the entry nor its tests are at fault. */
export const isSound = ({ verdict }: Result): boolean => verdict === 'caught' || verdict === 'survived'

export function scores(results: readonly Result[]): Score[] {
  const areas = [...new Set(results.map(({ area }) => area))]
  return areas.map(area =>
    total(
      results.filter(result => result.area === area),
      area,
    ),
  )
}

export const total = (results: readonly Result[], area = 'all'): Score => ({
  area,
  caught: results.filter(({ verdict }) => verdict === 'caught').length,
  tried: results.length,
})

export const percent = ({ caught, tried }: Score): number => (tried === 0 ? 100 : (100 * caught) / tried)

export type Kept = {
  readonly results: readonly Result[]
  /** By file and filter: how the tests end without a mutant. */
  readonly baselines: Readonly<Record<string, FileRun>>
}

export function writeResults(path: string, results: readonly Result[], baselines: Kept['baselines']): void {
  const date = new Date().toISOString()
  const text = JSON.stringify({ date, scores: [...scores(results), total(results)], results, baselines }, undefined, 2)
  writeFileSync(path, `${text}\n`)
}

export function readResults(path: string): Kept {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Kept
  } catch {
    return { results: [], baselines: {} } // No run before this one.
  }
}
