import { useSignal } from '@preact/signals'
import type { ComponentChildren, RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import { isLive } from '../live.ts'
import { changeToken, may, type Role } from '../session.ts'
import { Popover } from './popover.tsx'

export type Needs = Extract<Role, 'operate' | 'admin' | 'publish'>

const TOKENS: { readonly [role in Needs]: string } = {
  admin: 'Needs the admin token.',
  operate: 'Needs an operate or admin token.',
  publish: 'Needs a publish or admin token.',
}

/**
 * The button of an action. Users without the role see it too, and learn by pressing it which token they need. Without a
 * connection it is disabled: what the page shows may be old.
 */
export function GuardedButton({
  needs,
  topic,
  kind = '',
  name,
  blocked,
  isPressed,
  button: given,
  press,
  children,
}: {
  needs: Needs
  topic?: string | undefined
  kind?: string | undefined
  /** For screen readers, if the label alone is not enough. */
  name?: string | undefined
  /** Why it cannot be pressed now. */
  blocked?: string | undefined
  /** Of a button that stays pressed. */
  isPressed?: boolean
  button?: RefObject<HTMLButtonElement | null>
  press(): void
  children: ComponentChildren
}) {
  const own = useRef<HTMLButtonElement>(null)
  const button = given ?? own
  const isTold = useSignal(false)
  const isAllowed = may(needs, topic)
  const reason = blocked ?? (isAllowed ? (isLive.value ? undefined : 'Not connected') : TOKENS[needs])
  return (
    <>
      <button
        ref={button}
        type="button"
        class={kind}
        aria-label={name}
        aria-pressed={isPressed}
        aria-disabled={reason === undefined ? undefined : true}
        title={reason ?? name}
        onClick={() => {
          if (reason === undefined) press()
          else isTold.value = true
        }}
      >
        {children}
      </button>
      {isTold.value && reason !== undefined && (
        <Popover
          anchor={button}
          label={reason}
          closed={() => {
            isTold.value = false
          }}
        >
          <div class="row">
            <span>{reason}</span>
            {!isAllowed && (
              <button
                type="button"
                data-first
                onClick={() => {
                  isTold.value = false
                  changeToken()
                }}
              >
                Change token
              </button>
            )}
          </div>
        </Popover>
      )}
    </>
  )
}
