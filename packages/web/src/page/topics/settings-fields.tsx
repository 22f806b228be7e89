import { useId } from 'preact/hooks'
import { changedFields, type Field, faultOf, type Values } from './settings.ts'

/** The fields of a topic's settings. A changed field is marked and shows its old value. */
export function SettingsFields({
  fields,
  before,
  now,
  change,
}: {
  fields: readonly Field[]
  before: Values
  now: Values
  change(name: string, text: string): void
}) {
  const changed = new Set(changedFields(before, now).map(({ name }) => name))
  return (
    <div class="settings">
      {fields.map(field => (
        <SettingsField
          key={field.name}
          field={field}
          text={now[field.name] ?? ''}
          was={changed.has(field.name) ? (before[field.name] ?? '') : undefined}
          change={text => change(field.name, text)}
        />
      ))}
    </div>
  )
}

function SettingsField({
  field,
  text,
  was,
  change,
}: {
  field: Field
  text: string
  was: string | undefined
  change(text: string): void
}) {
  const id = useId()
  const fault = faultOf(field, text)
  const common = {
    id,
    'aria-describedby': `${id}-says`,
    'aria-invalid': fault === undefined ? undefined : true,
    disabled: field.isFixed === true,
  }
  return (
    <div class={was === undefined ? 'setting' : 'setting changed'}>
      <label for={id}>
        {field.label}
        {was !== undefined && <span class="was"> was {was}</span>}
      </label>
      {field.kind === 'choice' ? (
        <select {...common} value={text} onChange={event => change(event.currentTarget.value)}>
          {field.choices?.map(choice => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : field.kind === 'switch' ? (
        <input
          {...common}
          type="checkbox"
          checked={text === 'true'}
          onChange={event => change(String(event.currentTarget.checked))}
        />
      ) : (
        <input
          {...common}
          inputMode={field.kind === 'number' ? 'decimal' : 'text'}
          value={text}
          autocomplete="off"
          spellcheck={false}
          onInput={event => change(event.currentTarget.value.trim())}
        />
      )}
      <span id={`${id}-says`} class={fault === undefined ? 'small muted' : 'small bad'}>
        {fault ?? `${field.says}${field.isFixed === true ? ' Fixed when the topic is created.' : ''}`}
      </span>
    </div>
  )
}
