import type { JSX } from 'preact'
import type { Status } from '../shapes.ts'

export type Kind = 'ok' | 'warning' | 'bad' | 'paused' | 'off'

/** A state is never shown by colour alone: each has its shape and a word. */
export const SHAPES: { readonly [kind in Kind]: JSX.Element } = {
  ok: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
  warning: <path d="M6 1 11.5 11H.5Z" fill="currentColor" />,
  bad: <path d="m2 2 8 8m0-8-8 8" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" />,
  paused: (
    <>
      <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M6 1.8a4.2 4.2 0 0 0 0 8.4Z" fill="currentColor" />
    </>
  ),
  off: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="3 2" />,
}

/** Without `children` the word is only for screen readers and the title. */
export function Mark({ kind, word, children }: { kind: Kind; word: string; children?: preact.ComponentChildren }) {
  return (
    <span class={`mark mark-${kind}`} title={word}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        {SHAPES[kind]}
      </svg>
      {children ?? <span class="offscreen">{word}</span>}
    </span>
  )
}

export const kindOfGroup = ({ status, healthy }: { readonly status: Status; readonly healthy: boolean }): Kind => {
  if (status === 'DEAD') return 'bad'
  if (status === 'PAUSED') return 'paused'
  if (status === 'CANCELLED') return 'off'
  return healthy ? 'ok' : 'warning'
}

const SERVICE_KINDS: { readonly [state: string]: Kind } = {
  RUNNING: 'ok',
  STARTING: 'off',
  STOPPED: 'off',
  WAITING: 'warning',
  PAUSED: 'paused',
  ERROR: 'bad',
}

export const kindOfService = (state: string): Kind => SERVICE_KINDS[state] ?? 'off'
