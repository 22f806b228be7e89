import { createHash } from 'node:crypto'
import { STYLE } from './style.ts'

type Schema = { readonly [key: string]: unknown }
type Content = { readonly [type: string]: { readonly schema?: Schema } }

type Operation = {
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly operationId?: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description?: string
    readonly schema?: Schema
  }[]
  readonly requestBody?: { readonly content?: Content }
  readonly responses?: { readonly [status: string]: { readonly description?: string; readonly content?: Content } }
}

type Document = {
  readonly info: { readonly title: string; readonly description?: string }
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths?: { readonly [path: string]: { readonly [method: string]: unknown } }
}

type Entry = { readonly path: string; readonly method: string; readonly operation: Operation }

const hash = createHash('sha256').update(STYLE).digest('base64')

/** Only this page's own style; no script, no frame, no form. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`

/** The API description as a page that needs no script and no second request. Everything it shows is escaped. */
export function descriptionPage(given: object): string {
  const document = given as Document
  const entries = entriesOf(document)
  const tags = document.tags ?? []
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(document.info.title)}: HTTP API</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(document.info.title)}</h1>
<p>${escaped(document.info.description ?? '')} For programs: <a href="openapi.json">openapi.json</a>.</p>
<nav aria-label="Parts">${tags.map(({ name }) => `<a href="#${idOf(name)}">${escaped(name)}</a>`).join('')}</nav>
<main>
${tags.map(({ name, description = '' }) => section(name, description, entries)).join('\n')}
</main>
</body>
</html>
`
}

function entriesOf({ paths = {} }: Document): Entry[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as Operation,
    })),
  )
}

function section(name: string, description: string, entries: readonly Entry[]): string {
  const own = entries.filter(({ operation, method }) => operation.tags?.includes(name) && method !== 'HEAD')
  return `<h2 id="${idOf(name)}">${escaped(name)}</h2>\n<p>${escaped(description)}</p>\n${own.map(entry).join('\n')}`
}

function entry({ path, method, operation }: Entry): string {
  const { summary = '', description, parameters = [], requestBody, responses = {} } = operation
  return `<details>
<summary><code><b class="method ${escaped(method)}">${escaped(method)}</b> ${escaped(path)}</code><span>${escaped(summary)}</span></summary>
<article>
${description === undefined ? '' : `<p>${escaped(description)}</p>`}
${parameters.length === 0 ? '' : `<h3>Parameters</h3><table>${parameters.map(parameterRow).join('')}</table>`}
${requestBody?.content === undefined ? '' : `<h3>Body</h3>${contentBlocks(requestBody.content)}`}
<h3>Answers</h3>
<table>${Object.entries(responses).map(answerRow).join('')}</table>
</article>
</details>`
}

function parameterRow({
  name,
  in: where,
  required = false,
  description,
  schema,
}: NonNullable<Operation['parameters']>[number]): string {
  const about = [description, schema === undefined ? '' : JSON.stringify(schema)].filter(Boolean).join(' ')
  const place = `${where}${required ? ', needed' : ''}`
  return `<tr><td><code>${escaped(name)}</code></td><td>${escaped(place)}</td><td><code>${escaped(about)}</code></td></tr>`
}

function answerRow([status, { description = '', content }]: [
  string,
  { description?: string; content?: Content },
]): string {
  const isProblem = content !== undefined && Object.keys(content).every(type => type === 'application/problem+json')
  const shown =
    content === undefined ? '' : isProblem ? ' <code>application/problem+json</code>' : contentBlocks(content)
  return `<tr><td><code>${escaped(status)}</code></td><td>${escaped(description)}${shown}</td></tr>`
}

function contentBlocks(content: Content): string {
  return Object.entries(content)
    .map(
      ([type, { schema }]) =>
        `<div><code>${escaped(type)}</code></div><pre>${escaped(JSON.stringify(schema ?? {}, null, 1))}</pre>`,
    )
    .join('')
}

const idOf = (name: string): string => encodeURIComponent(name.replaceAll(' ', '-'))

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escaped = (text: string): string => text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
