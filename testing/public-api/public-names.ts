/** What a package exports, with its comments, as the TypeScript compiler sees it. */
import { dirname } from 'node:path'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API, type Checker, type Symbol as TypeSymbol } from 'typescript/unstable/sync'

const CALLABLE = new Set([SyntaxKind.FunctionDeclaration, SyntaxKind.MethodDeclaration, SyntaxKind.MethodSignature])

export type Documented = {
  /** Such as `Tidemark.publish`. */
  readonly name: string
  readonly comment: string
  readonly examples: readonly string[]
  /** A function or a method: it needs an example. */
  readonly callable: boolean
  readonly file: string
}

/** Classes, functions, types and constants of the entry, and the members of those that have any. */
export function readPublicNames(tsconfig: string, entry: string): Documented[] {
  const api = new API({ cwd: process.cwd() })
  try {
    const [project] = api.updateSnapshot({ openProjects: [tsconfig] }).getProjects()
    const source = project?.program.getSourceFile(entry)
    if (project === undefined || source === undefined) throw new Error(`${tsconfig} does not contain ${entry}`)
    const { checker } = project
    const module = checker.getSymbolAtLocation(source)
    if (module === undefined) throw new Error(`${entry} exports nothing`)
    return checker.getExportsOfModule(module).flatMap(exported => [...withMembers(checker, exported, dirname(entry))])
  } finally {
    api.close()
  }
}

function* withMembers(checker: Checker, exported: TypeSymbol, folder: string): Generator<Documented> {
  const symbol = checker.getAliasedSymbol(exported)
  yield describe(checker, symbol, exported.name)
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  for (const member of checker.getPropertiesOfType(type)) {
    if (isHidden(member, folder)) continue
    yield describe(checker, member, `${exported.name}.${member.name}`)
  }
}

/** Members of the language's own types (arrays, Error), private ones, and those that only `using` calls. */
function isHidden(member: TypeSymbol, folder: string): boolean {
  if (/^(#|__)/.test(member.name)) return true
  return !member.declarations.some(({ path }) => path.includes(folder))
}

function describe(checker: Checker, symbol: TypeSymbol, name: string): Documented {
  return {
    name,
    comment: symbol.getDocumentationComment(checker),
    examples: symbol.getJsDocTags(checker).flatMap(tag => (tag.name === 'example' ? [tag.text ?? ''] : [])),
    callable: symbol.declarations.some(({ kind }) => CALLABLE.has(kind)),
    file: symbol.declarations[0]?.path ?? '',
  }
}
