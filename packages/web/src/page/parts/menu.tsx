import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { addCommands } from '../keys.ts'

/** Further actions behind "⋯". Not a popover, because a dialog opened by one of them would close it, and itself too. */
export function Menu({
  label,
  hotkey,
  children,
}: {
  label: string
  /** A key that opens it. */
  hotkey?: string
  children: ComponentChildren
}) {
  const box = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = (): void => {
      if (box.current !== null) box.current.open = false
    }
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) close()
    }
    addEventListener('pointerdown', outside)
    const removeKey =
      hotkey &&
      addCommands('This screen', {
        [hotkey]: [
          label,
          () => {
            if (box.current === null) return
            box.current.open = true
            box.current.querySelector<HTMLElement>('.menu-list button')?.focus()
          },
        ],
      })
    return () => {
      removeEventListener('pointerdown', outside)
      if (removeKey) removeKey()
    }
  }, [])
  return (
    <details
      class="menu"
      ref={box}
      onKeyDown={event => {
        if (event.key !== 'Escape' || document.querySelector('dialog[open], .popover:popover-open') !== null) return
        event.currentTarget.open = false
        event.currentTarget.querySelector('summary')?.focus()
      }}
    >
      <summary aria-label={label} title={hotkey === undefined ? label : `${label} (${hotkey})`}>
        ⋯
      </summary>
      <div class="menu-list">{children}</div>
    </details>
  )
}
