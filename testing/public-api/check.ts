/**
 * npm run documented: every name that `tidemark` exports, and every member of it, has a comment; every function and method
 * has an example; and every example compiles.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type Documented, readPublicNames } from './public-names.ts'

const ROOT = `${import.meta.dirname}/../..`
const MADE = `${import.meta.dirname}/made`

/** What the examples may use without saying where it comes from. */
const GIVEN = `
type Order = { orderId: number }
declare const tm: Tidemark
declare const orders: Topic<Order>
declare const group: ConsumerGroup<Order>
declare const reader: Reader<Order>
declare const writer: Writer<Order>
declare const delivery: Delivery<Order>
declare const reservation: PullReservation
declare const logger: Logger
declare const receipt: string
declare const signal: AbortSignal
`

const TSCONFIG = {
  extends: '../../../tsconfig.json',
  compilerOptions: {
    noUnusedLocals: false,
    noUnusedParameters: false,
    verbatimModuleSyntax: false,
    isolatedModules: false,
  },
  include: ['*.ts'],
  exclude: [],
}

process.chdir(ROOT)
const names = readPublicNames(`${process.cwd()}/tsconfig.json`, `${process.cwd()}/packages/topics/src/index.ts`)
const missing = names.flatMap(name => [...whatIsMissing(name)])
for (const line of missing) console.error(line)
const compiled = compileExamples(names)
if (missing.length > 0) console.error(`\n${missing.length} comments or examples are missing.`)
process.exitCode = missing.length > 0 || !compiled ? 1 : 0

function* whatIsMissing({ name, comment, examples, callable, file }: Documented): Generator<string> {
  if (comment.trim() === '') yield `${file}: ${name} has no comment`
  if (callable && examples.length === 0) yield `${file}: ${name} has no @example`
}

function compileExamples(all: readonly Documented[]): boolean {
  rmSync(MADE, { recursive: true, force: true })
  mkdirSync(MADE)
  const imports = all.map(({ name }) => name).filter(name => !name.includes('.'))
  const header = `import { ${imports.join(', ')} } from 'tidemark'\n${GIVEN}`
  for (const { name, examples } of all) {
    if (examples.length === 0) continue
    const bodies = examples.map(example => `{\n${example}\n}\n`).join('')
    writeFileSync(`${MADE}/${name}.ts`, `${header}\nexport async function example() {\n${bodies}}\n`)
  }
  writeFileSync(`${MADE}/tsconfig.json`, JSON.stringify(TSCONFIG))
  const { status } = spawnSync('tsc', ['--project', MADE], { stdio: 'inherit' })
  if (status === 0) rmSync(MADE, { recursive: true })
  return status === 0
}
