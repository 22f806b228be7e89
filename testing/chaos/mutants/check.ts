/** npm run chaos -- --mutants: each deliberate defect, in a copy of the sources that is removed afterwards, must be caught. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnScript } from '../../processes.ts'
import type { RunResult } from '../run.ts'
import { copySources } from './copy.ts'
import { MUTANTS, type Mutant } from './list.ts'

/** What is random in a run may hide a defect once. */
const MOST_SEEDS = 3

type Verdict = 'caught' | 'survived' | 'not possible here'

export async function checkMutants(which: boolean | string, signal: AbortSignal): Promise<number> {
  const chosen = MUTANTS.filter(({ name }) => which === true || name === which)
  if (chosen.length === 0) {
    console.error(`There is no mutant '${which}'. There are: ${MUTANTS.map(({ name }) => name).join(', ')}`)
    return 64
  }
  const verdicts: Verdict[] = []
  for (const mutant of chosen) {
    if (signal.aborted) return 130
    verdicts.push(await checkMutant(mutant, signal))
  }
  if (signal.aborted) return 130
  const caught = verdicts.filter(verdict => verdict === 'caught').length
  console.log(`\n${caught} of ${chosen.length} mutants were caught`)
  return verdicts.includes('survived') ? 1 : 0
}

async function checkMutant(mutant: Mutant, signal: AbortSignal): Promise<Verdict> {
  console.log(`${mutant.name} (${mutant.engine}): ${mutant.about}`)
  using copy = copySources(mutant.edits)
  for (let seed = 1; seed <= MOST_SEEDS && !signal.aborted; seed++) {
    const result = await runIn(copy.path, mutant, seed, signal)
    if (result === undefined || signal.aborted) continue
    const [missing] = result.missing
    if (missing !== undefined) {
      console.log(`  not possible here: ${missing}`)
      return 'not possible here'
    }
    const noticed = result.violations.find(({ rule }) => mutant.caughtBy.includes(rule))
    if (noticed !== undefined) {
      console.log(`  ✔ caught with seed ${seed}: ${noticed.rule}: ${noticed.what.split('\n')[0]}`)
      return 'caught'
    }
    console.log(`  not noticed with seed ${seed}`)
  }
  if (!signal.aborted) console.log('  ✖ survived')
  return 'survived'
}

async function runIn(
  folder: string,
  mutant: Mutant,
  seed: number,
  signal: AbortSignal,
): Promise<RunResult | undefined> {
  const json = join(folder, `chaos-${seed}.json`)
  const { engine, faults, seconds } = mutant
  const args = ['--engine', engine, '--faults', faults.join(','), '--seconds', String(seconds)]
  const rest = ['--seed', String(seed), '--no-shrink', '--json', json]
  await using script = spawnScript(join(folder, 'testing/chaos/main.ts'), [...args, ...rest], { cwd: folder })
  const interrupt = (): void => script.kill('SIGINT')
  signal.addEventListener('abort', interrupt)
  const { code } = await script.exited
  signal.removeEventListener('abort', interrupt)
  if (signal.aborted) return undefined
  if (code === 0 || code === 1 || code === 2)
    return (JSON.parse(readFileSync(json, 'utf8')) as { results: RunResult[] }).results[0]
  console.log(['  the run ended by itself:', ...script.errorLines.slice(-10)].join('\n  '))
  return undefined
}
