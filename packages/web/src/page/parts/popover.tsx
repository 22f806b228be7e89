import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

const MARGIN = 8

type Place = { readonly top: number; readonly left: number }
type Box = { readonly top: number; readonly bottom: number; readonly left: number; readonly width: number }
type Size = { readonly width: number; readonly height: number }

/** Below its button; above it if there is more room; always within the window. */
function placeBeside(anchor: Box, size: Size, window: Size): Place {
  const below = anchor.bottom + 6
  const fits = below + size.height <= window.height - MARGIN
  const top = fits || anchor.top < window.height / 2 ? below : anchor.top - size.height - 6
  const most = (length: number, room: number): number => Math.max(MARGIN, room - length - MARGIN)
  return {
    top: Math.min(Math.max(MARGIN, top), most(size.height, window.height)),
    left: Math.min(Math.max(MARGIN, anchor.left), most(size.width, window.width)),
  }
}

/** A small dialog beside its button. Escape or a click elsewhere closes it, and the focus returns to the button. */
export function Popover({
  anchor,
  label,
  closed,
  children,
}: {
  anchor: RefObject<HTMLElement | null>
  label: string
  closed(): void
  children: ComponentChildren
}) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const [element, button] = [box.current, anchor.current]
    if (element === null || button === null) return
    const place = (): void => {
      const { top, left } = placeBeside(button.getBoundingClientRect(), element.getBoundingClientRect(), {
        width: document.documentElement.clientWidth,
        height: innerHeight,
      })
      element.style.top = `${top}px`
      element.style.left = `${left}px`
    }
    element.showPopover()
    place()
    element.querySelector<HTMLElement>('[data-first]')?.focus({ preventScroll: true })
    const sized = new ResizeObserver(place)
    sized.observe(element)
    addEventListener('scroll', place, { capture: true, passive: true })
    addEventListener('resize', place)
    return () => {
      sized.disconnect()
      removeEventListener('scroll', place, { capture: true })
      removeEventListener('resize', place)
    }
  }, [])
  return (
    <div
      ref={box}
      class="popover"
      popover="auto"
      role="dialog"
      aria-label={label}
      // Called before it closes, not after: pressing its key again at once reopens it.
      onBeforeToggle={event => {
        if ((event as unknown as ToggleEvent).newState === 'closed') closed()
      }}
    >
      {children}
    </div>
  )
}
