import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { addCommands } from '../keys.ts'

/** Further actions behind "⋯". Not a popover, because a dialog opened by one of them would close it, and itself too. */
export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = (): void => {
      if (box.current !== null) box.current.open = false
    }
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) close()
    }
    addEventListener('pointerdown', outside)
    const removeKey = addCommands('This screen', {
      '.': [
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
      removeKey()
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
      <summary aria-label={label} title={`${label} (.)`}>
        ⋯
      </summary>
      <div class="menu-list">{children}</div>
    </details>
  )
}
