import { readFileSync, writeFileSync } from 'node:fs'

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

export function writeResults(path: string, results: readonly Result[]): void {
  const text = JSON.stringify(
    { date: new Date().toISOString(), scores: [...scores(results), total(results)], results },
    undefined,
    2,
  )
  writeFileSync(path, `${text}\n`)
}

export function readResults(path: string): Result[] {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { results: Result[] }).results
  } catch {
    return [] // No run before this one.
  }
}
