const LINES = 200
const COLUMNS = 2_000

/** A line without end is cut, too: bytes in base64 or minified JSON are one line. */
export function partsOf(text: string): string[] {
  const parts: string[] = []
  let [start, lines] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === 10) lines++
    if (lines < LINES && at - start < LINES * COLUMNS) continue
    parts.push(text.slice(start, at + 1))
    start = at + 1
    lines = 0
  }
  if (start < text.length) parts.push(text.slice(start))
  return parts
}
