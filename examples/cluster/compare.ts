import type { IndexDatabase } from '@tidemark/pipeline'
import { type DumpedTable, tablesOf } from '../../testing/index-dump.ts'

export type Comparison = {
  readonly tables: number
  readonly rows: number
  readonly bytes: number
  /** One for each table that differs. */
  readonly differences: readonly string[]
}

const SHOWN = 300

/** Every table and every row. Only times, and which process it was, are left out. One pair of tables is in memory at once. */
export async function compareIndexes(cluster: IndexDatabase, single: IndexDatabase): Promise<Comparison> {
  const differences: string[] = []
  let [tables, rows, bytes] = [0, 0, 0]
  const [ours, theirs] = [tablesOf(cluster), tablesOf(single)]
  for (;;) {
    const [{ value: a }, { value: b }] = await Promise.all([ours.next(), theirs.next()])
    if (a === undefined && b === undefined) return { tables, rows, bytes, differences }
    const difference = differenceOf(a ?? undefined, b ?? undefined)
    if (difference !== undefined) differences.push(difference)
    // The tables after a missing one would all be told as different.
    if (a?.name !== b?.name) return { tables, rows, bytes, differences }
    tables++
    for (const row of a?.rows ?? []) {
      rows++
      bytes += row.length
    }
  }
}

function differenceOf(a: DumpedTable | undefined, b: DumpedTable | undefined): string | undefined {
  if (a === undefined || b === undefined || a.name !== b.name) {
    return `the cluster has the table ${a?.name ?? '(none)'}, the single machine ${b?.name ?? '(none)'}`
  }
  const at = a.rows.findIndex((row, at) => row !== b.rows[at])
  const isSame = at < 0 && a.rows.length === b.rows.length
  if (isSame) return undefined
  const shown = at < 0 ? a.rows.length : at
  return [
    `${a.name}: ${a.rows.length} rows on the cluster, ${b.rows.length} on the single machine; the first difference is row ${shown + 1}`,
    `  cluster         ${(a.rows[shown] ?? '(none)').slice(0, SHOWN)}`,
    `  single machine  ${(b.rows[shown] ?? '(none)').slice(0, SHOWN)}`,
  ].join('\n')
}
