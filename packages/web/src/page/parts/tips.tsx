import { useEffect, useRef } from 'preact/hooks'

const GAP = 6

/**
 * Shows the text of `data-tip`, for the pointer and for the keyboard. One element for the whole page, in the top layer:
 * inside a scrolling panel it would be cut off. Escape hides it, and the pointer may move onto it (WCAG 1.4.13).
 */
export function Tips() {
  const tip = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let shown: Element | undefined
    const hide = (): void => {
      shown = undefined
      if (tip.current?.matches(':popover-open')) tip.current.hidePopover()
    }
    const show = ({ target }: Event): void => {
      if (target === tip.current) return
      const owner = target instanceof Element ? target.closest('[data-tip]') : null
      if (owner === shown) return
      if (owner === null) {
        hide()
        return
      }
      shown = owner
      const element = tip.current
      if (element === null) return
      element.textContent = owner.getAttribute('data-tip')
      if (!element.matches(':popover-open')) element.showPopover()
      place(element, owner.getBoundingClientRect())
    }
    const hideOnEscape = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') hide()
    }
    const events = [
      ['pointerover', show],
      ['focusin', show],
      ['focusout', hide],
      ['scroll', hide],
    ] as const
    for (const [name, handler] of events) document.addEventListener(name, handler, { capture: true, passive: true })
    document.addEventListener('keydown', hideOnEscape)
    return () => {
      for (const [name, handler] of events) document.removeEventListener(name, handler, { capture: true })
      document.removeEventListener('keydown', hideOnEscape)
    }
  }, [])
  return <div ref={tip} class="tip" popover="manual" role="tooltip" />
}

/** Above its owner, or below if there is no room; never beyond the edge of the window. */
function place(tip: HTMLElement, owner: DOMRect): void {
  const { width, height } = tip.getBoundingClientRect()
  const left = Math.max(GAP, Math.min(innerWidth - width - GAP, owner.left + owner.width / 2 - width / 2))
  const top = owner.top - height - GAP < 0 ? owner.bottom + GAP : owner.top - height - GAP
  tip.style.left = `${left}px`
  tip.style.top = `${top}px`
}
