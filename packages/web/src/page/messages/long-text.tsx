const LINES = 200
const COLUMNS = 2_000

/** Text of any length: in parts, of which a browser lays out only those on the screen. */
export function LongText({ text, isMono = false }: { text: string; isMono?: boolean }) {
  return (
    <pre class={isMono ? 'mono long-text' : 'long-text'}>
      {partsOf(text).map((part, index) => (
        <span key={index} class="part">
          {part}
        </span>
      ))}
    </pre>
  )
}

/** A very long line is cut, too: base64 and minified JSON are one line. */
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
