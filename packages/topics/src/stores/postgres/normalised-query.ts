/**
 * The shape of a statement without anybody's data: literals and numbers become `?`, comments are removed. If it is
 * unclear where a literal ends, the rest is removed too: the server truncates long statements
 * (track_activity_query_size), and whether a backslash escapes a quote depends on the session
 * (standard_conforming_strings).
 */
const LONGEST = 200
const CUT = ' …'

/** Tried in this order; the first match wins. */
const TOKENS: readonly (readonly [RegExp, (text: string) => string | undefined])[] = [
  [/\s+/y, () => ' '],
  [/--[^\n]*/y, () => ' '],
  [/e'(?:[^'\\]|\\[\s\S]|'')*('?)/iy, text => (isClosed(text) ? '?' : undefined)],
  [/(?:[bxn]|u&)?'(?:[^']|'')*('?)/iy, text => (isClosed(text) && !text.includes("\\'") ? '?' : undefined)],
  [/u&"(?:[^"]|"")*"|"(?:[^"]|"")*"/iy, text => text],
  [/[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/iy, text => text],
  [/\$\d+/y, text => text],
  [/\d[\w.]*|\.\d[\w.]*/y, () => '?'],
  [/[^'"$]/y, text => text],
]

export function normalisedQuery(query: string): string {
  const text = withoutSetValue(tokensOf(query).replaceAll(/ +/g, ' ').trim())
  return text.length > LONGEST ? text.slice(0, LONGEST) + CUT : text
}

function tokensOf(query: string): string {
  let found = ''
  for (let at = 0; at < query.length; ) {
    const skipped = afterComment(query, at) ?? afterDollarQuote(query, at)
    const shown = skipped === undefined ? token(query, at) : { text: query[at] === '/' ? ' ' : '?', end: skipped }
    if (shown === undefined || shown.end === UNENDED) return found + CUT
    found += shown.text
    at = shown.end
  }
  return found
}

const UNENDED = -1

/** Comments nest. */
function afterComment(query: string, start: number): number | undefined {
  if (!query.startsWith('/*', start)) return undefined
  let depth = 0
  for (let at = start; at < query.length; ) {
    if (query.startsWith('/*', at)) depth++
    else if (query.startsWith('*/', at)) depth--
    else {
      at++
      continue
    }
    at += 2
    if (depth === 0) return at
  }
  return UNENDED
}

function afterDollarQuote(query: string, start: number): number | undefined {
  const DELIMITER = /\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/iy
  DELIMITER.lastIndex = start
  const delimiter = DELIMITER.exec(query)?.[0]
  if (delimiter === undefined) return undefined
  const end = query.indexOf(delimiter, start + delimiter.length)
  return end === -1 ? UNENDED : end + delimiter.length
}

/** undefined: what stands here is truncated or ambiguous. */
function token(query: string, at: number): { readonly text: string; readonly end: number } | undefined {
  for (const [pattern, show] of TOKENS) {
    pattern.lastIndex = at
    const found = pattern.exec(query)?.[0]
    if (found === undefined) continue
    const text = show(found)
    return text === undefined ? undefined : { text, end: at + found.length }
  }
  return undefined
}

/** Judged by its quotes alone: an odd number means a literal that never ends. */
function isClosed(literal: string): boolean {
  return (
    literal.length > 1 && /'$/.test(literal) && (literal.replaceAll(/\\[\s\S]/g, '').split("'").length - 1) % 2 === 0
  )
}

/** `set app.token = abc`: the value may be a bare word. */
function withoutSetValue(text: string): string {
  return text.replaceAll(/(^|;\s*)(set\s+(?:(?:session|local)\s+)?[\w."]+\s*(?:=|\sto\b))[^;]*/gi, '$1$2 ?')
}
