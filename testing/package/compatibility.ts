/** docs/reference/compatibility.md: what the last complete run of `npm run test:package -- --write` tested. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Result } from './result.ts'

const FILE = join(import.meta.dirname, '../../docs/reference/compatibility.md')

const INTRODUCTION = `# Compatibility

Tested with the packages as they are published, installed outside of the repository. \`npm run test:package -- --write\` runs the
scenarios in \`testing/package/scenarios/\` and writes this page.

`

export function writeCompatibility(results: readonly Result[]): void {
  const rows = results.map(({ name, proves, versions, outcome, reason }) => {
    const shown = outcome === 'passed' ? 'passed' : `${outcome}: ${reason.split('\n')[0]}`
    return `| ${[name, proves, versions, shown].map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  const table = ['| scenario | what is tested | versions | result |', '| --- | --- | --- | --- |', ...rows].join('\n')
  mkdirSync(dirname(FILE), { recursive: true })
  writeFileSync(FILE, `${INTRODUCTION}${table}\n`)
  console.log(`Wrote ${FILE}`)
}
