/** What a package exports, with its comments, as the TypeScript compiler sees it. */
import { dirname } from 'node:path'
import { SyntaxKind } from 'typescript/unstable/ast'
import { isClassDeclaration } from 'typescript/unstable/ast/is'
import {
  API,
  type Checker,
  type Project,
  SignatureKind,
  SymbolFlags,
  type Symbol as TypeSymbol,
} from 'typescript/unstable/sync'

export type Documented = {
  /** Such as `Tidemark.publish`. */
  readonly name: string
  readonly comment: string
  readonly examples: readonly string[]
  readonly kind: 'function' | 'method' | 'other'
  readonly file: string
  /** Same for a member and for what inherits it. */
  readonly declaration: string
}

/** Classes, functions, types and constants of each entry, and the members of those that have any. */
export function readPublicNames(tsconfig: string, entries: readonly string[]): Documented[][] {
  const api = new API({ cwd: process.cwd() })
  try {
    const [project] = api.updateSnapshot({ openProjects: [tsconfig] }).getProjects()
    if (project === undefined) throw new Error(`${tsconfig} is not a project`)
    return entries.map(entry => namesOf(project, entry))
  } finally {
    api.close()
  }
}

function namesOf({ program, checker }: Project, entry: string): Documented[] {
  const source = program.getSourceFile(entry)
  if (source === undefined) throw new Error(`The project does not contain ${entry}`)
  const module = checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error(`${entry} exports nothing`)
  return checker.getExportsOfModule(module).flatMap(exported => [...withMembers(checker, exported, dirname(entry))])
}

function* withMembers(checker: Checker, exported: TypeSymbol, folder: string): Generator<Documented> {
  const isAlias = (exported.flags & SymbolFlags.Alias) !== 0
  const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported
  yield describe(checker, symbol, exported.name)
  const inherited = inheritedComments(checker, symbol)
  for (const member of checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))) {
    if (isHidden(member, folder)) continue
    const described = describe(checker, member, `${exported.name}.${member.name}`)
    yield { ...described, comment: described.comment || (inherited.get(member.name) ?? '') }
  }
}

/**
 * Members of the language's own types (arrays, Error), private ones, those that only `using` calls, and those of an option
 * table: their text is its `says`.
 */
function isHidden(member: TypeSymbol, folder: string): boolean {
  if (/^(#|__)/.test(member.name)) return true
  const ours = member.declarations.filter(({ path }) => path.includes(folder))
  return ours.every(({ kind }) => kind === SyntaxKind.PropertyAssignment)
}

/** As an editor shows them: what a class overrides or implements has the comment of the original. */
function inheritedComments(checker: Checker, symbol: TypeSymbol): Map<string, string> {
  const node = symbol.declarations.find(({ kind }) => kind === SyntaxKind.ClassDeclaration)?.resolve()
  const clauses = node && isClassDeclaration(node) ? (node.heritageClauses ?? []) : []
  const parents = clauses.flatMap(({ types }) => types.map(type => checker.getTypeAtLocation(type)))
  const members = parents.flatMap(type => (type === undefined ? [] : checker.getPropertiesOfType(type)))
  return new Map(members.map(member => [member.name, member.getDocumentationComment(checker)]))
}

function describe(checker: Checker, symbol: TypeSymbol, name: string): Documented {
  const [declared] = symbol.declarations
  return {
    name,
    comment: symbol.getDocumentationComment(checker),
    examples: symbol.getJsDocTags(checker).flatMap(tag => (tag.name === 'example' ? [tag.text ?? ''] : [])),
    kind: kindOf(checker, symbol),
    file: declared?.path ?? '',
    declaration: `${declared?.path}:${declared?.index}`,
  }
}

function kindOf(checker: Checker, symbol: TypeSymbol): Documented['kind'] {
  const is = (kinds: readonly SyntaxKind[]): boolean => symbol.declarations.some(({ kind }) => kinds.includes(kind))
  if (is([SyntaxKind.MethodDeclaration, SyntaxKind.MethodSignature])) return 'method'
  if (is([SyntaxKind.FunctionDeclaration])) return 'function'
  const type = is([SyntaxKind.VariableDeclaration]) ? checker.getTypeOfSymbol(symbol) : undefined
  return type && checker.getSignaturesOfType(type, SignatureKind.Call).length > 0 ? 'function' : 'other'
}
