import { useSignal } from '@preact/signals'
import { goTo } from '../address.ts'
import { bytes, count, plural } from '../format.ts'
import { at, write } from '../http.ts'
import { topicNamed } from '../live.ts'
import { atNow } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import type { TopicLive } from '../shapes.ts'
import { previewOrphans } from './preview-orphans.ts'

const MOST_REFERENCE_GROUPS = 64

/** Actions on a whole topic. Each says beforehand, in numbers, what it will do. */
export function TopicActions({ topic }: { topic: TopicLive }) {
  return (
    <div class="row actions">
      {topic.config.semantics === 'pub-sub' && <SwitchTracking topic={topic} />}
      {topic.config.tracking === 'reference' && <CompleteOrphans topic={topic} />}
      <DeleteTopic topic={topic} />
    </div>
  )
}

function SwitchTracking({ topic: { topic, config, groups } }: { topic: TopicLive }) {
  const other = config.tracking === 'offset' ? 'reference' : 'offset'
  const what =
    other === 'reference'
      ? `A bit per message and group shows who has processed what. It allows ${MOST_REFERENCE_GROUPS} groups; there ${groups.length === 1 ? 'is 1' : `are ${count(groups.length)}`}.`
      : 'The watermark of each group tells what it has processed, at no cost per message. Who has processed which message is then no longer known.'
  const tooMany = other === 'reference' && groups.length > MOST_REFERENCE_GROUPS
  return (
    <ActionButton
      label={`Switch to ${other} tracking`}
      title={`Switch ${topic} to ${other} tracking`}
      confirm="Switch"
      ask="dialog"
      needs="admin"
      topic={topic}
      text={`${plural(groups.length, 'group')} ${groups.length === 1 ? 'keeps' : 'keep'} running. ${what}`}
      blocked={
        tooMany
          ? `Reference tracking allows ${MOST_REFERENCE_GROUPS} groups, and ${topic} has ${groups.length}`
          : undefined
      }
      run={async () => {
        await write('POST', `${at('topics', topic)}/tracking`, { tracking: other })
        return `Switched ${topic} to ${other} tracking${atNow()}.`
      }}
      undo={{
        label: 'Switch back',
        run: () => write('POST', `${at('topics', topic)}/tracking`, { tracking: config.tracking }),
      }}
    />
  )
}

const AGES = ['1h', '1d', '7d'] as const

function CompleteOrphans({ topic: { topic, groups } }: { topic: TopicLive }) {
  const olderThan = useSignal<string>('1d')
  const live = new Set(
    groups.filter(({ status }) => status === 'ACTIVE' || status === 'PAUSED').map(({ group }) => group),
  )
  return (
    <ActionButton
      label="Complete orphans"
      title={`Complete orphans of ${topic}`}
      confirm="Complete"
      ask="dialog"
      needs="operate"
      topic={topic}
      about={olderThan.value}
      text={signal => previewOrphans(topic, olderThan.value, live, signal)}
      fields={
        <label class="row">
          Older than
          <select
            value={olderThan.value}
            onChange={event => {
              olderThan.value = event.currentTarget.value
            }}
          >
            {AGES.map(age => (
              <option key={age}>{age}</option>
            ))}
          </select>
        </label>
      }
      run={async () => {
        const { completed } = await write<{ completed: number }>('POST', `${at('topics', topic)}/complete-orphans`, {
          olderThan: olderThan.value,
        })
        return `Completed ${plural(completed, 'message')} of ${topic}${atNow()}.`
      }}
    />
  )
}

function DeleteTopic({ topic: { topic } }: { topic: TopicLive }) {
  const found = topicNamed(topic)
  return (
    <ActionButton
      label="Delete topic"
      title={`Delete ${topic}`}
      confirm="Delete"
      danger
      typed={topic}
      needs="admin"
      topic={topic}
      text={found === undefined ? '' : lossOf(found)}
      blocked={found === undefined ? 'It has been deleted meanwhile' : undefined}
      run={async () => {
        await write('DELETE', at('topics', topic))
        goTo('/topics')
        return `Deleted ${topic}${atNow()}.`
      }}
    />
  )
}

function lossOf({ kept, bytes: size, groups }: TopicLive): string {
  const letters = groups.reduce((sum, { deadLetters }) => sum + deadLetters, 0)
  const measured = size === null ? '' : ` (${bytes(size)})`
  return `${plural(kept, 'message')}${measured}, ${plural(groups.length, 'group')} and ${plural(letters, 'dead letter')} are deleted for good. Whoever runs on it stops.`
}
