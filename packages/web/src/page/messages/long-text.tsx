import { partsOf } from './parts-of.ts'

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
