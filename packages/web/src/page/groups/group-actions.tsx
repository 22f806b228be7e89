import { goTo, topicAddress } from '../address.ts'
import { count, duration, plural } from '../format.ts'
import { at, write } from '../http.ts'
import { ActionButton } from '../parts/confirm.tsx'
import type { GroupLive, TopicLive } from '../shapes.ts'
import { ResetDialog } from './reset-dialog.tsx'

/** What can be done to a group. Each says beforehand, in numbers, what it will do. */
export function GroupActions({ topic, group }: { topic: TopicLive; group: GroupLive }) {
  const name = group.group === '' ? topic.topic : group.group
  const place = at('topics', topic.topic, 'groups', group.group)
  const common = { needs: 'operate' as const, topic: topic.topic }
  const post = (verb: string, body = {}): Promise<unknown> => write('POST', `${place}/${verb}`, body)
  return (
    <div class="row">
      {group.status === 'ACTIVE' && (
        <ActionButton
          {...common}
          label="Pause"
          text={`${name} takes nothing new. ${plural(group.inFlight, 'message')} in flight ${group.inFlight === 1 ? 'finishes' : 'finish'}. What comes waits.`}
          run={async () => {
            await post('pause')
            return `Paused ${name}.`
          }}
          undo={{ label: 'Resume', run: () => post('resume') }}
        />
      )}
      {group.status === 'PAUSED' && (
        <ActionButton
          {...common}
          label="Resume"
          text={`${plural(group.lagMessages, 'message')} ${group.lagMessages === 1 ? 'is' : 'are'} waiting.${estimate(topic, group)}`}
          run={async () => {
            await post('resume')
            return `Resumed ${name}.`
          }}
          undo={{ label: 'Pause', run: () => post('pause') }}
        />
      )}
      {group.status === 'DEAD' && (
        <ActionButton
          {...common}
          label="Resurrect"
          text={`${name} goes on where it stopped: ${plural(group.lagMessages, 'message')} waiting.`}
          run={async () => {
            const { lost, skipped } = (await post('resurrect')) as { lost: number; skipped: number }
            const missing = lost + skipped === 0 ? '' : ` ${plural(lost, 'message')} lost, ${count(skipped)} skipped.`
            return `Resurrected ${name}.${missing}`
          }}
        />
      )}
      {group.status !== 'CANCELLED' && <ResetDialog topic={topic} group={group} />}
      {group.status !== 'CANCELLED' && (
        <ActionButton
          {...common}
          label="Cancel"
          danger
          text={`${name} ends for good. ${plural(group.lagMessages, 'waiting message')} will not be delivered to it. Other groups are not touched.`}
          run={async () => {
            await post('cancel')
            return `Cancelled ${name}.`
          }}
        />
      )}
      <ActionButton
        {...common}
        needs="admin"
        label="Remove"
        danger
        typed={name}
        text={`Cancels ${name}, waits up to 10 s for ${plural(group.inFlight, 'message')} in flight, and deletes it. Its ${plural(group.deadLetters, 'dead letter')} stay.`}
        run={async () => {
          await write('DELETE', place)
          goTo(topicAddress(topic.topic))
          return `Removed ${name}.`
        }}
      />
    </div>
  )
}

function estimate({ publishedPerSecond }: TopicLive, { lagMessages, consumedPerSecond }: GroupLive): string {
  const gain = consumedPerSecond - publishedPerSecond
  return gain > 0 ? ` At ${count(consumedPerSecond)}/s that takes about ${duration((lagMessages / gain) * 1000)}.` : ''
}
