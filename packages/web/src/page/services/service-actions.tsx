import { at, write } from '../http.ts'
import { atNow } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { Menu } from '../parts/menu.tsx'
import type { Service, ServiceState } from './service-shapes.ts'
import { DONE, SERVICE_TEXTS, type ServiceVerb, UNDO } from './service-texts.ts'

const LABELS: { readonly [verb in ServiceVerb]: string } = {
  start: 'Start',
  resume: 'Resume',
  pause: 'Pause',
  stop: 'Stop',
  restart: 'Restart',
}

/** The first is in the row, the others behind "⋯". */
const POSSIBLE: { readonly [state in ServiceState]: readonly ServiceVerb[] } = {
  STOPPED: ['start'],
  ERROR: ['start', 'stop'],
  STARTING: ['stop'],
  WAITING: ['stop', 'restart'],
  PAUSED: ['resume', 'stop', 'restart'],
  RUNNING: ['pause', 'restart', 'stop'],
}

/** A stop may wait for a batch to be written. */
const TIMEOUT_MS = 60_000

export function ServiceActions({ service, reload }: { service: Service; reload(): void }) {
  const { name, state, errors } = service
  const post = async (verb: string): Promise<void> => {
    await write('POST', `${at('pipeline', 'services', name)}/${verb}`, {}, { timeoutMs: TIMEOUT_MS })
    reload()
  }
  const button = (verb: ServiceVerb) => {
    const undo = UNDO[verb]
    return (
      <ActionButton
        key={verb}
        label={LABELS[verb]}
        name={`${LABELS[verb]} ${name}`}
        title={`${LABELS[verb]} ${name}`}
        confirm={LABELS[verb]}
        needs="operate"
        text={SERVICE_TEXTS[verb](name)}
        run={async () => {
          await post(verb)
          return `${DONE[verb]} ${name}${atNow()}.`
        }}
        undo={undo && { label: undo[0], run: () => post(undo[1]) }}
      />
    )
  }
  const [first, ...others] = POSSIBLE[state]
  return (
    <span class="row service-actions">
      {first !== undefined && button(first)}
      <Menu label={`More actions on ${name}`}>
        {others.map(button)}
        <ActionButton
          label="Clear errors"
          name={`Clear errors of ${name}`}
          title={`Clear the errors of ${name}`}
          confirm="Clear"
          needs="operate"
          text={
            errors.length === 0
              ? `${name} reports no error.`
              : 'They are no longer shown. What still fails is reported again.'
          }
          run={async () => {
            await post('clear-errors')
            return `Cleared the errors of ${name}.`
          }}
        />
      </Menu>
    </span>
  )
}
