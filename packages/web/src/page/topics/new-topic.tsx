import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { goTo, topicAddress } from '../address.ts'
import { at, write } from '../http.ts'
import { topicNamed } from '../live.ts'
import { tell } from '../notices.ts'
import { Modal } from '../parts/confirm.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Failed } from '../parts/states.tsx'
import { DEFAULTS, FIELDS, faultOf, optionsOf, type Values, valuesOf } from './settings.ts'
import { SettingsFields } from './settings-fields.tsx'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Creates a topic. Most need only a name. */
export function NewTopic() {
  const button = useRef<HTMLButtonElement>(null)
  const isOpen = useSignal(false)
  const close = (): void => {
    isOpen.value = false
  }
  return (
    <>
      <GuardedButton
        needs="admin"
        kind="primary"
        button={button}
        press={() => {
          isOpen.value = true
        }}
      >
        + New topic
      </GuardedButton>
      {isOpen.value && (
        <Modal label="New topic" closed={close} wide>
          <Form close={close} />
        </Modal>
      )}
    </>
  )
}

function Form({ close }: { close(): void }) {
  const before = { ...valuesOf(DEFAULTS), semantics: 'queue' }
  const name = useSignal('')
  const values = useSignal<Values>(before)
  const error = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  const fault = nameFault(name.value)
  const isReady =
    name.value !== '' &&
    fault === undefined &&
    !isRunning.value &&
    FIELDS.every(field => faultOf(field, values.value[field.name] ?? '') === undefined)
  const change = (field: string, text: string): void => {
    values.value = { ...values.value, [field]: text }
  }
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isReady) return
    isRunning.value = true
    error.value = undefined
    try {
      await write('PUT', at('topics', name.value), optionsOf(before, values.value))
      close()
      tell(`Created ${name.value}.`)
      goTo(topicAddress(name.value))
    } catch (failure) {
      error.value = failure
    }
    isRunning.value = false
  }
  const isPubSub = values.value.semantics === 'pub-sub'
  const shown = FIELDS.filter(({ isOfGroups }) => isOfGroups !== true || isPubSub).map(field => ({
    ...field,
    isFixed: false,
  }))
  return (
    <form class="stack" onSubmit={create}>
      <h2>New topic</h2>
      <label class="stack">
        Name
        <input
          data-first
          autocomplete="off"
          spellcheck={false}
          value={name.value}
          aria-invalid={name.value !== '' && fault !== undefined ? true : undefined}
          onInput={event => {
            name.value = event.currentTarget.value.trim()
          }}
        />
        <span class={name.value !== '' && fault !== undefined ? 'small bad' : 'small muted'}>
          {name.value === '' ? 'Letters, digits, dots, dashes and underscores, such as orders.created.' : fault}
        </span>
      </label>
      <SettingsFields
        fields={shown.filter(({ name: field }) => field === 'semantics')}
        before={values.value}
        now={values.value}
        change={change}
      />
      <details>
        <summary>More settings</summary>
        <SettingsFields
          fields={shown.filter(({ name: field }) => field !== 'semantics')}
          before={before}
          now={values.value}
          change={change}
        />
      </details>
      {error.value !== undefined && <Failed error={error.value} />}
      <div class="row buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={!isReady}>
          Create
        </button>
      </div>
    </form>
  )
}

function nameFault(name: string): string | undefined {
  if (name === '') return 'Give it a name.'
  if (topicNamed(name) !== undefined) return `There is a topic ${name} already.`
  return NAME.test(name) ? undefined : 'Begin with a letter or digit; then letters, digits, . - _, at most 128 in all.'
}
