import type { ComponentChildren } from 'preact'

/** Figures side by side, each with its name above it. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts values">{children}</dl>
}

export function Fact({ name, children, title }: { name: string; children: ComponentChildren; title?: string }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd title={title}>{children}</dd>
    </div>
  )
}
