import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { addCommands, allCommands } from '../keys.ts'
import { letterKeys, times } from '../preferences.ts'

/** All keys of the current screen, and two preferences that belong to no screen. */
export function Help() {
  const dialog = useRef<HTMLDialogElement>(null)
  const isOpen = useSignal(false)
  const show = (): void => {
    isOpen.value = true
    dialog.current?.showModal()
  }
  useEffect(() => addCommands('Everywhere', { '?': ['Show the keys', show] }), [])
  const places = isOpen.value ? Map.groupBy(allCommands(), ({ place }) => place) : new Map()
  return (
    <>
      <button type="button" class="plain" aria-label="Keys and settings" title="Keys and settings (?)" onClick={show}>
        ?
      </button>
      <dialog
        ref={dialog}
        onClose={() => {
          isOpen.value = false
        }}
        aria-label="Keys and settings"
      >
        <div class="stack">
          {[...places].map(([place, commands]) => (
            <section key={place} class="stack">
              <h2>{place}</h2>
              <dl class="keys">
                {commands.map(({ keys, says }: { keys: string; says: string }) => (
                  <div key={keys} class="row spread">
                    <dt>{says}</dt>
                    <dd>
                      {namesOf(keys).map(key => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
          <label class="row spread">
            Times
            <select
              value={times.value}
              onChange={event => {
                times.value = event.currentTarget.value as typeof times.value
              }}
            >
              <option value="relative">relative</option>
              <option value="local">local</option>
              <option value="utc">UTC</option>
            </select>
          </label>
          <label class="row spread">
            Single letters as keys
            <input
              type="checkbox"
              checked={letterKeys.value === 'on'}
              onChange={event => {
                letterKeys.value = event.currentTarget.checked ? 'on' : 'off'
              }}
            />
          </label>
          <form method="dialog">
            <button type="submit">Close</button>
          </form>
        </div>
      </dialog>
    </>
  )
}

/** As they are printed on a keyboard. */
const namesOf = (keys: string): readonly string[] =>
  keys === ' '
    ? ['Space']
    : keys.split(' ').map(key => key.replace(/Arrow(\w+)/, (_, way: string) => ARROWS[way] ?? way))

const ARROWS: { readonly [way: string]: string } = { Left: '←', Right: '→', Up: '↑', Down: '↓' }
