import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

type Props = {
  /** Whether something in the first panel needs attention. */
  isOpen: boolean
  panels: { readonly [name: string]: preact.ComponentChildren }
}

/** Panels beside the world. On a phone the world takes the screen, and they are sheets that come up from below. */
export function Sheets({ isOpen, panels }: Props) {
  const names = Object.keys(panels)
  const shown = useSignal<string | undefined>(undefined)
  useEffect(() => {
    if (isOpen) shown.value = names[0]
  }, [isOpen])
  return (
    <>
      <div class="sheet-buttons row">
        {names.map(name => (
          <button
            key={name}
            type="button"
            aria-expanded={shown.value === name}
            onClick={() => {
              shown.value = shown.value === name ? undefined : name
            }}
          >
            {name}
          </button>
        ))}
      </div>
      {names.map(name => (
        <div key={name} class={`sheet sheet-${name.toLowerCase()}`} data-open={shown.value === name}>
          <button
            type="button"
            class="plain sheet-close"
            aria-label={`Close ${name.toLowerCase()}`}
            onClick={() => {
              shown.value = undefined
            }}
          >
            ×
          </button>
          {panels[name]}
        </div>
      ))}
    </>
  )
}
