import { useSignal } from '@preact/signals'
import { pushQuery } from '../address.ts'
import { copy } from '../copy.ts'
import { bytes, moment } from '../format.ts'
import { SHOWN_CHARACTERS, type StoredMessage } from './stored-message.ts'

/** One message: payload, headers and identifiers. */
export function Inspector({ topic, message }: { topic: string; message: StoredMessage }) {
  const isWhole = useSignal(false)
  const text =
    message.payloadBase64 === undefined
      ? (JSON.stringify(message.payload, null, 2) ?? '')
      : hexOf(message.payloadBase64)
  const isCut = text.length > SHOWN_CHARACTERS && !isWhole.value
  return (
    <section class="panel inspector" aria-label={`Message ${message.id} of ${topic}`}>
      <div class="row spread">
        <h2>{message.id}</h2>
        <div class="row">
          <button type="button" onClick={() => void copy(text, 'the payload')}>
            Copy
          </button>
          <button type="button" class="plain" aria-label="Close" onClick={() => pushQuery({ m: null })}>
            ×
          </button>
        </div>
      </div>
      <dl class="facts small">
        <div>
          <dt class="muted">messageId</dt>
          <dd class="mono">{message.messageId}</dd>
        </div>
        <div>
          <dt class="muted">key</dt>
          <dd class="mono">{message.key ?? '–'}</dd>
        </div>
        <div>
          <dt class="muted">type</dt>
          <dd class="mono">{message.type}</dd>
        </div>
        <div>
          <dt class="muted">published</dt>
          <dd>{moment(new Date(message.createdAt), 'local')}</dd>
        </div>
      </dl>
      {message.omittedBytes !== undefined ? (
        <p class="muted">
          The payload of {bytes(message.omittedBytes)} is too large to show. Consume the message to get it.
        </p>
      ) : (
        <pre class="mono">{isCut ? text.slice(0, SHOWN_CHARACTERS) : text}</pre>
      )}
      {isCut && (
        <button
          type="button"
          onClick={() => {
            isWhole.value = true
          }}
        >
          Show all {bytes(text.length)}
        </button>
      )}
      {Object.keys(message.headers).length > 0 && (
        <>
          <h3>Headers</h3>
          <dl class="small">
            {Object.entries(message.headers).map(([name, value]) => (
              <div key={name} class="row">
                <dt class="mono muted">{name}</dt>
                <dd class="mono">{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </section>
  )
}

function hexOf(base64: string): string {
  const raw = atob(base64)
  const lines: string[] = []
  for (let at = 0; at < raw.length; at += 16) {
    const part = raw.slice(at, at + 16)
    const hex = [...part].map(char => char.charCodeAt(0).toString(16).padStart(2, '0')).join(' ')
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${part.replaceAll(/[^\x20-\x7e]/g, '.')}`)
  }
  return lines.join('\n')
}
