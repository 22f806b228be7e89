/** The table in docs/reference/compatibility.md: what `npm run test:package -- --write` tested last. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Result } from './result.ts'

const FILE = join(import.meta.dirname, '../../docs/reference/compatibility.md')
const TABLE = /(<!-- scenarios -->\n)([\s\S]*?)(<!-- end of scenarios -->)/
const HEAD = ['| scenario | what is tested | versions | result |', '| --- | --- | --- | --- |']

/** Scenarios that were not run this time keep their rows. */
export function writeCompatibility(result: Result, all: readonly string[]): void {
  const page = readFileSync(FILE, 'utf8')
  if (!TABLE.test(page)) throw new Error(`${FILE} has no place for the table: ${TABLE.source}`)
  const rows = new Map([...rowsOf(page), [result.name, rowOf(result)]])
  const lines = all.flatMap(name => rows.get(name) ?? [])
  writeFileSync(
    FILE,
    page.replace(TABLE, (_, begin, __, end) => `${begin}\n${[...HEAD, ...lines].join('\n')}\n\n${end}`),
  )
}

function rowsOf(page: string): (readonly [string, string])[] {
  const lines = TABLE.exec(page)?.[2]?.split('\n').slice(1) ?? []
  return lines.flatMap(line =>
    line.startsWith('| ') && !HEAD.includes(line) ? [[line.split(' | ')[0]?.slice(2) ?? '', line] as const] : [],
  )
}

function rowOf({ name, proves, versions, outcome, reason }: Result): string {
  const shown = outcome === 'passed' ? 'passed' : `${outcome}: ${reason.split('\n')[0]}`
  return `| ${[name, proves, versions, shown].map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
