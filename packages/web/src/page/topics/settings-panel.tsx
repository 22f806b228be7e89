import { useSignal } from '@preact/signals'
import { plural } from '../format.ts'
import { at, write } from '../http.ts'
import { tell } from '../notices.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Failed } from '../parts/states.tsx'
import type { TopicLive } from '../shapes.ts'
import { useConfigPreview } from './config-preview.ts'
import { changedFields, FIELDS, faultOf, optionsOf, type Values, valuesOf } from './settings.ts'
import { SettingsFields } from './settings-fields.tsx'
import { TopicActions } from './topic-actions.tsx'

/** The settings of a topic. Changes are marked, and what they would remove is shown before they are saved. */
export function SettingsPanel({ topic }: { topic: TopicLive }) {
  const before = valuesOf(topic.config)
  const edited = useSignal<Values>({})
  const now = { ...before, ...edited.value }
  const changed = changedFields(before, now)
  const error = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  const faults = changed.some(field => faultOf(field, now[field.name] ?? '') !== undefined)
  const effect = useConfigPreview(topic.topic, changed.length > 0 && !faults ? optionsOf(before, now) : undefined)
  const shown = FIELDS.filter(({ isOfGroups }) => isOfGroups !== true || now.semantics === 'pub-sub')
  const save = async (): Promise<void> => {
    isRunning.value = true
    error.value = undefined
    try {
      await write('PUT', at('topics', topic.topic), optionsOf(before, now))
      edited.value = {}
      tell(`Changed ${changed.map(({ label }) => label.toLowerCase()).join(', ')} of ${topic.topic}.`)
    } catch (failure) {
      error.value = failure
    }
    isRunning.value = false
  }
  return (
    <section class="panel stack" aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <SettingsFields
        fields={shown}
        before={before}
        now={now}
        change={(name, text) => {
          edited.value = { ...edited.value, [name]: text }
        }}
      />
      {changed.length > 0 && (
        <p class="consequence" aria-live="polite">
          {changed.map(({ name, label }) => `${label} ${before[name]} → ${now[name]}`).join(', ')}
          {effect === undefined ? '.' : `: ${effect}`}
        </p>
      )}
      {error.value !== undefined && <Failed error={error.value} />}
      <div class="row">
        <GuardedButton
          needs="admin"
          topic={topic.topic}
          kind="primary"
          blocked={
            changed.length === 0
              ? 'Nothing has been changed'
              : faults
                ? 'A field cannot be read'
                : isRunning.value
                  ? 'Saving'
                  : undefined
          }
          press={() => void save()}
        >
          Save{changed.length > 0 && ` ${plural(changed.length, 'change')}`}
        </GuardedButton>
        {changed.length > 0 && (
          <button
            type="button"
            onClick={() => {
              edited.value = {}
            }}
          >
            Discard
          </button>
        )}
      </div>
      <TopicActions topic={topic} />
    </section>
  )
}
