export type Outcome = 'passed' | 'failed' | 'skipped'

export type Result = {
  readonly name: string
  readonly proves: string
  readonly versions: string
  readonly outcome: Outcome
  /** Empty where it passed. */
  readonly reason: string
}

export function printTable(results: readonly Result[]): void {
  const rows = results.map(({ name, versions, outcome, reason }) => [name, versions, outcome, reason])
  const table = [['scenario', 'versions', 'result', ''], ...rows]
  const widths = [0, 1, 2].map(column => Math.max(...table.map(row => row[column]?.length ?? 0)))
  console.log()
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  const count = (outcome: Outcome): number => results.filter(result => result.outcome === outcome).length
  console.log(`\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`)
}
