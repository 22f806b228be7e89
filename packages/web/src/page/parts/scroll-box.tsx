import type { ComponentChildren } from 'preact'

/** Wide content that scrolls by itself. It is focusable, so that the keyboard can scroll it. */
export function ScrollBox({
  label,
  panel = false,
  children,
}: {
  label: string
  panel?: boolean
  children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by the keyboard (WCAG 2.1.1)
    <section class={panel ? 'panel scroll' : 'scroll'} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
