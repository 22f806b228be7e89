/** npm run bench -- <suite>: measures, prints a table, writes JSON. `--help` says what there is. */
import { join } from 'node:path'
import { helpText, parseArguments } from './arguments.ts'
import { fanout } from './fanout/suite.ts'
import type { Figure } from './figure.ts'
import { index } from './index/suite.ts'
import { jetstream } from './jetstream/suite.ts'
import { peers } from './peers/suite.ts'
import { pipeline } from './pipeline/suite.ts'
import { writeJson } from './report/json.ts'
import { machineFacts } from './report/machine.ts'
import { formatTable } from './report/table.ts'
import { scale } from './scale/suite.ts'
import type { Suite } from './suite.ts'
import { topics } from './topics/suite.ts'

const SUITES: readonly Suite[] = [topics, fanout, pipeline, index, peers, jetstream, scale]

// What is measured waits for a real disk, here and in the processes of the cases.
process.env.TIDEMARK_ON_DISK = '1'
process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const asked = understand(args)
  if (asked === undefined) return 2
  if (asked.help || asked.suites.length === 0) {
    console.log(helpText(SUITES))
    return asked.help ? 0 : 2
  }
  let isFailed = false
  for (const suite of asked.suites) {
    const file = asked.json ?? join(import.meta.dirname, 'results', `${suite.name}.json`)
    isFailed = (await runSuite(suite, asked, file)) || isFailed
  }
  return isFailed ? 1 : 0
}

function understand(args: string[]): ReturnType<typeof parseArguments> | undefined {
  try {
    return parseArguments(args, SUITES)
  } catch (error) {
    console.error(`${(error as Error).message}.`)
    return undefined
  }
}

/** Whether the suite failed: what it claims does not hold. */
async function runSuite(suite: Suite, asked: ReturnType<typeof parseArguments>, file: string): Promise<boolean> {
  const started = performance.now()
  const progress = (text: string): void => {
    console.error(`${((performance.now() - started) / 1_000).toFixed(0).padStart(5)} s  ${text}`)
  }
  const { figures, versions, remarks, text, details, write, failed = false } = await suite.run({ ...asked, progress })
  const machine = { ...machineFacts(), ...versions }
  console.log(`\n${text ?? formatTable(figures)}\n`)
  for (const remark of remarks) console.log(`- ${remark}`)
  console.log(
    `- ${Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
  )
  console.log(
    `\n${verdict(figures)}${asked.quick ? ' These are the figures of a --quick run: judge by a full one.' : ''}`,
  )
  writeJson(file, { suite: suite.name, quick: asked.quick, machine, remarks, figures, ...details })
  console.log(`Written to ${file}`)
  if (asked.write) for (const each of write?.() ?? []) console.log(`Written to ${each}`)
  return failed
}

function verdict(figures: readonly Figure[]): string {
  const judged = figures.filter(figure => figure.met !== null)
  if (judged.length === 0) return 'No targets: figures to compare by.'
  const missed = judged.filter(figure => figure.met === false)
  if (missed.length === 0) return `All ${judged.length} targets are met.`
  const names = missed.map(figure => `${figure.case} (${figure.engine})`)
  return `${missed.length} of ${judged.length} targets are MISSED: ${names.join('; ')}.`
}
