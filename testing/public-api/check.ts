/**
 * npm run documented: every name that a package exports, and every member of it, has a comment; every function has an
 * example (in `tidemark` every method, too); and every example compiles, as does the TypeScript of all pages.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { ENTRIES, type Entry } from './entries.ts'
import { pageExamples } from './pages.ts'
import { type Documented, readPublicNames } from './public-names.ts'

const ROOT = `${import.meta.dirname}/../..`
const MADE = `${import.meta.dirname}/made`

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
const entries = readPublicNames(
  `${process.cwd()}/tsconfig.json`,
  ENTRIES.map(({ file }) => `${process.cwd()}/${file}`),
)
const missing = [...whatIsMissing()]
for (const line of missing) console.error(line)
const compiled = compileExamples()
if (missing.length > 0) console.error(`\n${missing.length} comments or examples are missing.`)
process.exitCode = missing.length > 0 || !compiled ? 1 : 0

function* whatIsMissing(): Generator<string> {
  const seen = new Set<string>()
  for (const [index, names] of entries.entries()) {
    for (const { name, comment, examples, kind, file, declaration } of names) {
      if (seen.has(declaration)) continue
      seen.add(declaration)
      if (comment.trim() === '') yield `${file}: ${name} has no comment`
      if (ENTRIES[index]?.examples.includes(kind) && examples.length === 0) yield `${file}: ${name} has no @example`
    }
  }
}

function compileExamples(): boolean {
  rmSync(MADE, { recursive: true, force: true })
  mkdirSync(MADE)
  entries.forEach((names, index) => {
    const entry = ENTRIES[index]
    if (entry !== undefined) writeExamples(entry, names)
  })
  for (const [file, text] of pageExamples(importsOf(['tidemark', '@tidemark/pipeline', '@tidemark/server']))) {
    writeFileSync(`${MADE}/${file}`, text)
  }
  writeFileSync(`${MADE}/tsconfig.json`, JSON.stringify(TSCONFIG))
  const { status } = spawnSync('tsc', ['--project', MADE], { stdio: 'inherit' })
  if (status === 0) rmSync(MADE, { recursive: true })
  return status === 0
}

/** Import statements of everything that these entries export; of two with one name, the first. */
function importsOf(specifiers: readonly string[]): string {
  const taken = new Set<string>()
  return specifiers
    .map(specifier => {
      const names = entries[ENTRIES.findIndex(entry => entry.specifier === specifier)] ?? []
      const own = names.map(({ name }) => name).filter(name => !name.includes('.') && !taken.has(name))
      for (const name of own) taken.add(name)
      return `import { ${own.join(', ')} } from '${specifier}'\n`
    })
    .join('')
}

function writeExamples(entry: Entry, names: readonly Documented[]): void {
  for (const [name, text] of Object.entries(entry.files ?? {})) writeFileSync(`${MADE}/${name}`, text)
  const imports = names.map(({ name }) => name).filter(name => !name.includes('.'))
  const header = `import { ${imports.join(', ')} } from '${entry.specifier}'\n${entry.given}`
  for (const { name, examples } of names) {
    if (examples.length === 0) continue
    const bodies = examples.map(example => `{\n${example.replace(/^export default /m, 'void ')}\n}\n`).join('')
    const file = `${entry.specifier.replaceAll(/[@/]/g, '-')}.${name}.ts`
    writeFileSync(`${MADE}/${file}`, `${header}\nexport async function example() {\n${bodies}}\n`)
  }
}
