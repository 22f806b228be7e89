import type { Criterion } from './criterion.ts'

export const EXIT = { passed: 0, failed: 1, usage: 2, broken: 3, stopped: 130 } as const

export const hasPassed = (criteria: readonly Criterion[]): boolean =>
  criteria.length > 0 && criteria.every(({ passed }) => passed)

/** Every criterion with its figure and limit, then one sentence. */
export function formatVerdict(criteria: readonly Criterion[]): string {
  return [...criterionLines(criteria), '', summaryOf(criteria)].join('\n')
}

function criterionLines(criteria: readonly Criterion[]): string[] {
  const widthOf = (read: (each: Criterion) => string): number => Math.max(0, ...criteria.map(each => read(each).length))
  const [name, figure, limit] = [widthOf(each => each.name), widthOf(each => each.figure), widthOf(each => each.limit)]
  return criteria.flatMap(each => {
    const mark = each.passed ? '  ok  ' : ' FAIL '
    const line = `${mark}${each.name.padEnd(name)}  ${each.figure.padStart(figure)}  ${each.limit.padEnd(limit)}`
    return each.note === null ? [line.trimEnd()] : [line.trimEnd(), `        ${each.note}`]
  })
}

function summaryOf(criteria: readonly Criterion[]): string {
  if (criteria.length === 0) return 'FAILED: nothing was judged.'
  const failed = criteria.filter(({ passed }) => !passed)
  if (failed.length === 0) return `PASSED: all ${criteria.length} criteria are met.`
  const names = failed.map(({ name }) => name).join('; ')
  return `FAILED: ${failed.length} of ${criteria.length} criteria are not met: ${names}.`
}
