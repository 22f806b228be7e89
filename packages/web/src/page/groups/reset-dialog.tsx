import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Modal } from '../parts/confirm.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import type { GroupLive, TopicLive } from '../shapes.ts'
import { ResetForm } from './reset-form.tsx'

/** Moves a group's position, backward or forward, while it runs. */
export function ResetDialog({
  topic,
  group,
  blocked,
}: {
  topic: TopicLive
  group: GroupLive
  blocked?: string | undefined
}) {
  const button = useRef<HTMLButtonElement>(null)
  const isOpen = useSignal(false)
  const close = (): void => {
    isOpen.value = false
  }
  return (
    <>
      <GuardedButton
        button={button}
        needs="operate"
        topic={topic.topic}
        blocked={blocked}
        press={() => {
          isOpen.value = true
        }}
      >
        Reset…
      </GuardedButton>
      {isOpen.value && (
        <Modal label={`Move ${group.group === '' ? topic.topic : group.group}`} closed={close} wide>
          <ResetForm topic={topic} group={group} blocked={blocked} close={close} />
        </Modal>
      )}
    </>
  )
}
