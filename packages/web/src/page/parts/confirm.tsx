import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { addCommands } from '../keys.ts'
import { type Action, Confirmation } from './confirmation.tsx'
import { GuardedButton } from './guarded-button.tsx'
import { Popover } from './popover.tsx'

/** A button that says beforehand what it will do and afterwards what it did. */
export function ActionButton(action: Action) {
  const { label, needs, topic, danger = false, typed, plain = false, blocked, name, hotkey } = action
  const button = useRef<HTMLButtonElement>(null)
  const isOpen = useSignal(false)
  const close = (): void => {
    isOpen.value = false
  }
  useEffect(() => {
    if (hotkey === undefined) return
    return addCommands('This screen', { [hotkey]: [label, () => button.current?.click()] })
  }, [hotkey, label])
  const asks = action.ask ?? (danger || typed !== undefined ? 'dialog' : 'popover')
  return (
    <>
      <GuardedButton
        button={button}
        needs={needs}
        topic={topic}
        kind={[danger ? 'danger' : '', plain ? 'plain' : ''].join(' ').trim()}
        name={name}
        blocked={blocked}
        press={() => {
          isOpen.value = true
        }}
      >
        {label}
      </GuardedButton>
      {isOpen.value &&
        (asks === 'popover' ? (
          <Popover anchor={button} label={action.title ?? label} closed={close}>
            <Confirmation {...action} close={close} />
          </Popover>
        ) : (
          <Modal label={action.title ?? label} closed={close}>
            <Confirmation {...action} close={close} />
          </Modal>
        ))}
    </>
  )
}

/** A dialog over the page, for as long as it is rendered. */
export function Modal({
  label,
  closed,
  wide = false,
  children,
}: {
  label: string
  closed(): void
  wide?: boolean
  children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    dialog.current?.querySelector<HTMLElement>('[data-first]')?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus({ preventScroll: true })
    }
  }, [])
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} onClose={closed} aria-label={label}>
      {children}
    </dialog>
  )
}
