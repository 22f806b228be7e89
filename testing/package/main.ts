/**
 * npm run test:package [-- names]: Tidemark as its users get it. Packs every package, installs the tarballs outside of the
 * repository and runs the scenarios in scenarios/, one after the other, each with the libraries it names.
 *
 *   npm run test:package                        every scenario
 *   npm run test:package -- esbuild orm         those with 'esbuild' or 'orm' in their names
 *   npm run test:package -- --list              their names
 *   npm run test:package -- --write             the results go to the table in docs/reference/compatibility.md, too
 *
 * A scenario whose libraries can't be installed here is skipped, with the reason. TIDEMARK_KEEP=1 keeps the folders.
 */
import { parseArgs } from 'node:util'
import { temporaryFolder } from '../databases.ts'
import { writeCompatibility } from './compatibility.ts'
import { packAll } from './pack.ts'
import { printTable, type Result } from './result.ts'
import { runScenario } from './run-scenario.ts'
import { chooseScenarios } from './scenarios.ts'

const { values, positionals } = parseArgs({
  options: { list: { type: 'boolean' }, write: { type: 'boolean' } },
  allowPositionals: true,
})
const scenarios = chooseScenarios(positionals)

if (values.list) {
  for (const { name, proves } of scenarios) console.log(`${name.padEnd(24)} ${proves}`)
} else {
  // Folders of node_modules are large: they belong on the disk, not in memory.
  process.env.TIDEMARK_ON_DISK = '1'
  using folder = temporaryFolder()
  const tarballs = packAll(folder.path)
  const results: Result[] = []
  const all = chooseScenarios([]).map(({ name }) => name)
  for (const scenario of scenarios) {
    process.stdout.write(`${scenario.name} … `)
    const result = await runScenario(scenario, tarballs, folder.path)
    console.log(result.outcome === 'passed' ? 'passed' : `${result.outcome}: ${result.reason}`)
    results.push(result)
    // At once: a run that is interrupted keeps what it has tested.
    if (values.write) writeCompatibility(result, all)
  }
  printTable(results)
  process.exitCode = results.some(({ outcome }) => outcome === 'failed') ? 1 : 0
}
