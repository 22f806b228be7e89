import { useSignal } from '@preact/signals'
import { topicAddress } from '../address.ts'
import { copy } from '../copy.ts'
import { bytes } from '../format.ts'
import { LongText } from '../messages/long-text.tsx'
import { summaryOf } from '../messages/stored-message.ts'
import { sizeOf, viewsOf } from '../messages/views.ts'
import { Age } from '../parts/age.tsx'
import { AttemptsLine } from './attempts-line.tsx'
import { LetterActions } from './letter-actions.tsx'
import type { Letter } from './letter-shapes.ts'
import { waitsOf } from './letter-texts.ts'

/** One letter in a line; opened, with its attempts on a time line, its error and its payload. */
export function LetterItem({
  topic,
  letter,
  isSelected,
  select,
  done,
}: {
  topic: string
  letter: Letter
  isSelected: boolean
  select(isSelected: boolean): void
  done(): void
}) {
  const isOpen = useSignal(false)
  const waits = waitsOf(letter.history)
  return (
    <li class="letter" data-row>
      <div class="letter-line">
        <input
          type="checkbox"
          aria-label={`Select dead letter ${letter.id}`}
          checked={isSelected}
          onChange={event => select(event.currentTarget.checked)}
        />
        <button
          type="button"
          class="plain letter-name"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value
          }}
        >
          <span class="twist" aria-hidden="true">
            {isOpen.value ? '▾' : '▸'}
          </span>
          <span class="mono" title={`Message ${letter.logId}, dead letter ${letter.id}`}>
            {letter.logId}
          </span>
          <span class="mono truncate letter-key" title={letter.key ?? undefined}>
            {letter.key ?? '–'}
          </span>
          <span class="muted small letter-waits">
            {letter.attempts} {letter.attempts === 1 ? 'attempt' : 'attempts'}
            {waits !== '' && ` · ${waits}`}
          </span>
          <span class="mono muted truncate letter-payload">{summaryOf(letter)}</span>
          <span class="muted small">
            <Age at={letter.deadAt} />
          </span>
        </button>
        <span class="row letter-actions">
          <LetterActions
            plain
            topic={topic}
            group={letter.group}
            filter={{ ids: [letter.id], ...(letter.group !== '' && { group: letter.group }) }}
            matching={1}
            what={`dead letter ${letter.id}`}
            done={done}
          />
        </span>
      </div>
      {isOpen.value && <Opened letter={letter} />}
    </li>
  )
}

function Opened({ letter }: { letter: Letter }) {
  const [view] = viewsOf(letter)
  return (
    <div class="letter-body">
      <section class="stack tight" aria-label="Error and attempts">
        <p class="bad letter-error">
          {letter.error.name}: {letter.error.message}
        </p>
        <AttemptsLine letter={letter} />
      </section>
      <section class="stack tight" aria-label="Payload">
        <div class="row spread">
          <span class="muted small">
            {letter.type} · {bytes(sizeOf(letter))} · published <Age at={letter.createdAt} /> · message{' '}
            <a class="mono" href={`${topicAddress(letter.topic)}/messages?m=${letter.logId}`}>
              {letter.logId}
            </a>{' '}
            · messageId <span class="mono">{letter.messageId}</span> · dead letter <span class="mono">{letter.id}</span>
          </span>
          <span class="row">
            {view !== undefined && (
              <button type="button" class="plain" onClick={() => void copy(view.text, 'the payload')}>
                Copy
              </button>
            )}
          </span>
        </div>
        {view === undefined ? (
          <p class="muted">The payload of {bytes(sizeOf(letter))} is larger than the server sends to a page.</p>
        ) : (
          <LongText text={view.text} isMono />
        )}
      </section>
    </div>
  )
}
