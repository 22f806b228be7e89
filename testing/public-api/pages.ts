/** The TypeScript of the pages: every `ts` block of every .md file, as a file that can be compiled. */
import { globSync, readFileSync } from 'node:fs'

/** What blocks may use without saying where it comes from, beside the names of the packages. */
const GIVEN = `
import assert from 'node:assert/strict'
import pg from 'pg'
import { z } from 'zod'
type Order = { orderId: number; status?: string; version?: number; total?: number }
declare const tm: Tidemark
declare const topics: Tidemark
declare const orders: Topic<Order>
declare const group: ConsumerGroup<Order>
declare const client: pg.Client
declare const url: string
declare const payload: Order
declare const schemas: { orders: Schema<{ orderId: number; placedAt: string }, { orderId: number; placedAt: Date }> }
declare function badRequest(text: string): void
declare function tryLater(): void
declare const pipeline: Pipeline
declare function charge(message: { payload: Order }): Promise<void>
declare function sendEmail(message: { payload: Order }): Promise<void>
declare function store(message: { payload: Order }): Promise<void>
declare function render(order: Order, options: { signal: AbortSignal }): Promise<void>
declare function placeOrder(id: number): Promise<void>
declare function freshToken(): Promise<string>
declare function findUser(cookie: string | undefined): Promise<{ name: string; isOperator: boolean } | undefined>
`

/** Pages with fragments of internal code, and with files that tests run elsewhere. */
const NOT_COMPILED = ['writing-an-engine', 'writing-an-indexer', 'simulation'].map(name => `docs/internals/${name}.md`)

const isOurs = (path: string): boolean => !/(^|\/)(node_modules|dist)\//.test(path) && !NOT_COMPILED.includes(path)

/** File name and text of each block. */
export function pageExamples(imports: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const page of globSync('**/*.md').filter(isOurs)) {
    const blocks = readFileSync(page, 'utf8').matchAll(/^```ts\b.*\n([\s\S]*?)^```/gm)
    let number = 0
    for (const [, block = ''] of blocks) {
      number++
      if (isFragment(block)) continue
      files.set(`${page.replaceAll('/', '.')}.${number}.ts`, toFile(block, imports))
    }
  }
  return files
}

/** Something is left out, or it has decorators of a framework that is not installed here. */
const isFragment = (block: string): boolean => block.includes('…') || /^@\w+\(/m.test(block)

/** A line that is said to be an error has to be one. */
const expectErrors = (block: string): string =>
  block.replaceAll(/^(.*\/\/ compile error.*)$/gm, '// @ts-expect-error\n$1')

/** A block with imports is a program of its own. Any other has what the packages export and the names above. */
function toFile(block: string, imports: string): string {
  if (/^import /m.test(block)) return `${expectErrors(block)}\nexport {}\n`
  const body = expectErrors(block).replace(/^export default /m, 'void ')
  return `${imports}${GIVEN}\nexport async function example() {\n${body}\n}\n`
}
