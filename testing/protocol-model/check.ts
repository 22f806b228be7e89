/**
 * npm run model [-- --full]: checks the protocol of consuming with Spin, and that the check notices when a fence is
 * removed. Needs `spin` and a C compiler (Debian: apt-get install spin gcc). With one message it takes about ten
 * seconds of processor time and 0.6 GB; `--full` checks two, which did not end within ten minutes on two cores.
 */
import { execFile } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../folders.ts'

type Verdict = { readonly errors: number; readonly states: number; readonly why: string; readonly unreached: number }

const run = promisify(execFile)
const FENCES = ['NO_VERSION', 'NO_EPOCH', 'NO_INCARNATION']
const messages = process.argv.includes('--full') ? 2 : 1

process.exitCode = (await checkAll()) ? 0 : 1

async function checkAll(): Promise<boolean> {
  if (!(await hasSpin())) {
    console.error('npm run model needs the model checker Spin and a C compiler: apt-get install spin gcc')
    return false
  }
  const whole = await check([])
  const holds = whole.errors === 0 && whole.unreached === 0
  const { unreached } = whole
  const missed = unreached === 0 ? '' : `, but ${unreached} statements were never reached`
  console.log(`${holds ? '✔' : '✖'} the protocol: ${whole.states} states${missed}${whole.why}`)
  let isRight = holds
  for (const fence of FENCES) {
    const without = await check([fence])
    const isNoticed = without.errors > 0
    console.log(`${isNoticed ? '✔' : '✖'} with ${fence}: ${isNoticed ? `fails${without.why}` : 'nothing is noticed'}`)
    isRight &&= isNoticed
  }
  return isRight
}

async function check(fences: readonly string[]): Promise<Verdict> {
  using folder = temporaryFolder()
  copyFileSync(join(import.meta.dirname, 'protocol.pml'), join(folder.path, 'protocol.pml'))
  const cwd = folder.path
  await run('spin', [`-DMESSAGES=${messages}`, ...fences.map(name => `-D${name}`), '-a', 'protocol.pml'], { cwd })
  await run('gcc', ['-O2', '-w', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c'], { cwd })
  const { stdout } = await run(join(cwd, 'pan'), ['-m1000000'], { cwd, maxBuffer: 1e8 })
  const numberIn = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1] ?? Number.NaN)
  const why = /pan:1: (.*)/.exec(stdout)?.[1]
  // Every process ends with a state that its endless loop makes unreachable; what has a line of its own counts.
  const unreached = [...stdout.matchAll(/^\s+protocol\.pml:\d+, state \d+, "(?!-end-)/gm)].length
  return {
    errors: numberIn(/errors: (\d+)/),
    states: numberIn(/(\d+) states, stored/),
    why: why === undefined ? '' : `: ${why}`,
    unreached,
  }
}

async function hasSpin(): Promise<boolean> {
  const found = await Promise.allSettled([run('spin', ['-V']), run('gcc', ['--version'])])
  return found.every(({ status }) => status === 'fulfilled')
}
