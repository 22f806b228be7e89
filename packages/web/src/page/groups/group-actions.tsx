import { useSignal } from '@preact/signals'
import { goTo, topicAddress } from '../address.ts'
import { whole } from '../format.ts'
import { at, get, write } from '../http.ts'
import { atNow } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import { Menu } from '../parts/menu.tsx'
import type { GroupLive, TopicLive } from '../shapes.ts'
import type { GroupNow } from './group-shapes.ts'
import { cancelText, pauseText, type ResurrectChoice, removeText, resumeText, resurrectText } from './group-texts.ts'
import { ResetDialog } from './reset-dialog.tsx'
import { speedOf } from './speed.ts'

type Props = { readonly topic: TopicLive; readonly group: GroupLive; readonly blocked?: string | undefined }

/** Actions on a group. Each says beforehand, in current numbers, what it will do. */
export function GroupActions({ topic, group, blocked }: Props) {
  const name = group.group === '' ? topic.topic : group.group
  const place = at('topics', topic.topic, 'groups', group.group)
  const common = { needs: 'operate', topic: topic.topic, blocked } as const
  const look = (signal: AbortSignal): Promise<GroupNow> => get<GroupNow>(place, { signal })
  const post = (verb: string, body = {}): Promise<unknown> => write('POST', `${place}/${verb}`, body)
  const done = (verb: string, word: string) => async (): Promise<string> => {
    await post(verb)
    return `${word} ${name}${atNow()}.`
  }
  const { maxRetentionMs } = topic.config
  return (
    <div class="row">
      {group.status === 'ACTIVE' && (
        <ActionButton
          {...common}
          label="Pause"
          title={`Pause ${name}`}
          confirm="Pause"
          hotkey="p"
          text={async signal =>
            pauseText(name, (await look(signal)).inFlight, typeof maxRetentionMs === 'number' ? maxRetentionMs : null)
          }
          run={done('pause', 'Paused')}
          undo={{ label: 'Resume', run: () => post('resume') }}
        />
      )}
      {group.status === 'PAUSED' && (
        <ActionButton
          {...common}
          label="Resume"
          title={`Resume ${name}`}
          confirm="Resume"
          hotkey="p"
          text={async signal => {
            const [{ lagMessages }, perSecond] = await Promise.all([
              look(signal),
              speedOf(topic.topic, group.group, signal),
            ])
            return resumeText(lagMessages, perSecond)
          }}
          run={done('resume', 'Resumed')}
          undo={{ label: 'Pause', run: () => post('pause') }}
        />
      )}
      {group.status === 'DEAD' && <Resurrect topic={topic} group={group} blocked={blocked} />}
      {group.status !== 'CANCELLED' && <ResetDialog topic={topic} group={group} blocked={blocked} />}
      <Menu label={`More actions on ${name}`} hotkey=".">
        <a href={`${topicAddress(topic.topic)}/messages`}>Messages of {topic.topic}</a>
        <ActionButton
          {...common}
          label="Acknowledge losses"
          title={`Acknowledge what ${name} has lost`}
          confirm="Acknowledge"
          text={async signal => lossText(name, await look(signal))}
          run={async () => {
            const { acknowledged } = (await post('acknowledge-loss')) as { acknowledged: number }
            return `Acknowledged ${whole(acknowledged)} lost of ${name}.`
          }}
        />
        {group.status !== 'CANCELLED' && (
          <ActionButton
            {...common}
            needs="admin"
            label="Cancel…"
            title={`Cancel ${name}`}
            confirm="Cancel the group"
            danger
            text={async signal => cancelText(name, (await look(signal)).lagMessages)}
            run={done('cancel', 'Cancelled')}
          />
        )}
        <ActionButton
          {...common}
          needs="admin"
          label="Remove…"
          title={`Remove ${name}`}
          confirm="Remove"
          danger
          typed={name}
          text={async signal => {
            const { inFlight, deadLetters } = await look(signal)
            return removeText(name, inFlight, deadLetters)
          }}
          run={async () => {
            await write('DELETE', place, {}, { timeoutMs: 30_000 })
            goTo(topicAddress(topic.topic))
            return `Removed ${name}${atNow()}.`
          }}
        />
      </Menu>
    </div>
  )
}

const lossText = (name: string, { unacknowledgedLoss }: GroupNow): string =>
  unacknowledgedLoss === 0
    ? `${name} has lost nothing that is not acknowledged.`
    : `${whole(unacknowledgedLoss)} lost by ${name} are no longer reported. They stay lost.`

const NEWEST = 10_000

/** Where it stopped, with the newest few, or at the present. */
export function Resurrect({ topic, group, blocked }: Props) {
  const choice = useSignal<ResurrectChoice>('where')
  const newest = useSignal(NEWEST)
  const name = group.group === '' ? topic.topic : group.group
  const place = at('topics', topic.topic, 'groups', group.group)
  const radio = (value: ResurrectChoice, label: string) => (
    <label class="row">
      <input
        type="radio"
        name="resurrect"
        checked={choice.value === value}
        onChange={() => {
          choice.value = value
        }}
      />
      {label}
    </label>
  )
  const body = (): object => {
    if (choice.value === 'where') return {}
    return { backfill: choice.value === 'present' ? false : { maxMessages: newest.value } }
  }
  return (
    <ActionButton
      needs="operate"
      topic={topic.topic}
      blocked={blocked}
      ask="dialog"
      label="Resurrect…"
      title={`Resurrect ${name}`}
      confirm="Resurrect"
      about={`${choice.value} ${newest.value}`}
      text={async signal =>
        resurrectText(choice.value, (await get<GroupNow>(place, { signal })).lagMessages, newest.value)
      }
      fields={
        <fieldset class="stack tight">
          <legend class="offscreen">Where it goes on</legend>
          {radio('where', 'Where it stopped')}
          <div class="row">
            {radio('newest', 'With the newest')}
            <input
              type="number"
              min={1}
              step={1}
              class="short"
              aria-label="Number of newest messages"
              value={newest.value}
              onInput={event => {
                choice.value = 'newest'
                newest.value = Math.max(1, Math.floor(event.currentTarget.valueAsNumber || 1))
              }}
            />
          </div>
          {radio('present', 'At the present')}
        </fieldset>
      }
      run={async () => {
        const { lost, skipped } = await write<{ lost: number; skipped: number }>('POST', `${place}/resurrect`, body())
        const missing = [
          ...(lost > 0 ? [`${whole(lost)} had been cleaned up`] : []),
          ...(skipped > 0 ? [`${whole(skipped)} skipped`] : []),
        ]
        return `Resurrected ${name}${atNow()}.${missing.length === 0 ? '' : ` ${missing.join(', ')}.`}`
      }}
    />
  )
}
