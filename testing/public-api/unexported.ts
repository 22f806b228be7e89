/**
 * npm run exported: no public declaration mentions an internal type. Every type that one module exports to another and that
 * a public declaration mentions is exported by a public entry, so that a program can name it. Types that their own module
 * keeps to itself are abbreviations, and are looked through. It reads the declarations as they are published, without bodies
 * and private members.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Node, SyntaxKind } from 'typescript/unstable/ast'
import { isTypeAliasDeclaration } from 'typescript/unstable/ast/is'
import { API, type Project, SymbolFlags, type Symbol as TypeSymbol } from 'typescript/unstable/sync'
import { ENTRIES } from './entries.ts'

const ROOT = `${import.meta.dirname}/../..`
const MADE = `${import.meta.dirname}/made/declarations`
/** Sources of the packages that have entries. */
const FOLDERS = [...new Set(ENTRIES.map(({ file }) => dirname(file)))]

process.chdir(ROOT)
const found = withDeclarations(project => [...findUnexported(project)])
for (const line of found) console.error(line)
process.exitCode = found.length > 0 ? 1 : 0

function withDeclarations<T>(look: (project: Project) => T): T {
  rmSync(MADE, { recursive: true, force: true })
  mkdirSync(MADE, { recursive: true })
  const emitted = { noEmit: false, declaration: true, emitDeclarationOnly: true, stripInternal: true }
  const compilerOptions = { ...emitted, rootDir: '../../../..', outDir: 'types' }
  writeProject('emit.json', { compilerOptions, include: FOLDERS.map(folder => `../../../../${folder}`), exclude: [] })
  writeProject('tsconfig.json', { include: ['types'], exclude: [] })
  const { status } = spawnSync('tsc', ['--project', `${MADE}/emit.json`], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  const api = new API({ cwd: process.cwd() })
  try {
    const [project] = api.updateSnapshot({ openProjects: [`${MADE}/tsconfig.json`] }).getProjects()
    if (project === undefined) throw new Error(`${MADE} is not a project`)
    return look(project)
  } finally {
    api.close()
    rmSync(MADE, { recursive: true })
  }
}

function writeProject(name: string, config: object): void {
  writeFileSync(`${MADE}/${name}`, JSON.stringify({ extends: '../../../../tsconfig.json', ...config }))
}

function* findUnexported(project: Project): Generator<string> {
  const exported = ENTRIES.flatMap(({ specifier, file }) =>
    exportsOf(project, `${MADE}/types/${file.replace(/\.ts$/, '.d.ts')}`).map(symbol => ({ specifier, symbol })),
  )
  const known = new Set(exported.map(({ symbol }) => keyOf(symbol)))
  const reported = new Set<string>()
  for (const { specifier, symbol } of exported) {
    for (const mentioned of mentionedBy(project, symbol)) {
      const key = keyOf(mentioned)
      if (!key.startsWith('packages/') || known.has(key) || reported.has(key)) continue
      reported.add(key)
      const line = `${specifier}: ${symbol.name} mentions ${mentioned.name} (${key.split(':')[0]}.ts)`
      yield line
    }
  }
}

function exportsOf({ program, checker }: Project, file: string): TypeSymbol[] {
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${file} exports nothing`)
  return checker.getExportsOfModule(module).map(symbol => target(checker, symbol))
}

function target(checker: Project['checker'], symbol: TypeSymbol): TypeSymbol {
  return (symbol.flags & SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
}

/** With what abbreviations in the same module mention. */
function mentionedBy(project: Project, symbol: TypeSymbol, seen = new Set<string>()): TypeSymbol[] {
  const { checker } = project
  const nodes = symbol.declarations.flatMap(declaration => [...typeNames(declaration.resolve())])
  return checker.getSymbolAtLocation(nodes).flatMap(each => {
    if (each === undefined) return []
    const mentioned = target(checker, each)
    if (!isAbbreviation(mentioned)) return [mentioned]
    if (seen.has(keyOf(mentioned))) return []
    seen.add(keyOf(mentioned))
    return mentionedBy(project, mentioned, seen)
  })
}

function isAbbreviation({ declarations }: TypeSymbol): boolean {
  return declarations.every(declaration => {
    if (declaration.kind !== SyntaxKind.TypeAliasDeclaration) return false
    const node = declaration.resolve()
    return node !== undefined && isTypeAliasDeclaration(node) && !node.modifiers?.some(isExport)
  })
}

function isExport({ kind }: Node): boolean {
  return kind === SyntaxKind.ExportKeyword
}

/** The names of types in a declaration: `Order` of `Promise<Order>` and of `extends Order`. */
function* typeNames(node: Node | undefined): Generator<Node> {
  if (node === undefined) return
  const children: Node[] = []
  node.forEachChild(child => {
    children.push(child)
  })
  const isReference = node.kind === SyntaxKind.TypeReference || node.kind === SyntaxKind.ExpressionWithTypeArguments
  const [name] = children
  if (isReference && name !== undefined) yield name
  for (const child of children) yield* typeNames(child)
}

/** The same for a type of the sources and of the declarations made from them; type parameters have none of ours. */
function keyOf(symbol: TypeSymbol): string {
  const [declared] = symbol.declarations
  if (declared === undefined || (symbol.flags & SymbolFlags.TypeParameter) !== 0) return ''
  const file = /packages\/[a-z]+\/src\/.*$/.exec(declared.path)?.[0].replace(/(\.d)?\.ts$/, '') ?? ''
  return `${file}:${symbol.name}`
}
