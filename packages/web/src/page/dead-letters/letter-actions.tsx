import { count, plural, whole } from '../format.ts'
import { at, write } from '../http.ts'
import { topicNamed } from '../live.ts'
import { atNow } from '../parts/age.tsx'
import { ActionButton } from '../parts/confirm.tsx'
import type { DryRun, LetterFilter } from './letter-shapes.ts'
import { discardText, MANY, redriveText } from './letter-texts.ts'

type Props = {
  readonly topic: string
  readonly group: string
  readonly filter: LetterFilter
  readonly matching: number
  /** For screen readers: which letters. */
  readonly what: string
  readonly done: () => void
  readonly plain?: boolean
}

/** Redrives or deletes what matches. How many that is, and how many can't return, is asked when it opens. */
export function LetterActions({ topic, group, filter, matching, what, done, plain = false }: Props) {
  const place = `${at('topics', topic)}/dead-letters`
  const name = group === '' ? topic : group
  const maxAttempts = Number(topicNamed(topic)?.config.maxAttempts ?? 1)
  const number = matching === 1 && plain ? '' : ` ${count(matching)}`
  const dryRun = (verb: 'redrive' | 'discard', signal: AbortSignal): Promise<DryRun> =>
    write<DryRun>('POST', `${place}/${verb}`, { ...filter, dryRun: true }, { signal })
  return (
    <>
      <ActionButton
        label={`Redrive${number}`}
        name={`Redrive ${what}`}
        title={`Redrive ${plural(matching, 'dead letter')}`}
        confirm={`Redrive ${whole(matching)}`}
        needs="operate"
        topic={topic}
        plain={plain}
        ask={matching >= MANY ? 'dialog' : 'popover'}
        about={JSON.stringify(filter)}
        text={async signal => redriveText(await dryRun('redrive', signal), name, maxAttempts)}
        run={async () => {
          type Redriven = { redriven: number; gone: number; orphaned: number }
          const { redriven, gone, orphaned } = await write<Redriven>('POST', `${place}/redrive`, filter)
          done()
          const left = gone + orphaned
          return `Redrove ${plural(redriven, 'message')} to ${name}${atNow()}.${left > 0 ? ` ${count(left)} stayed.` : ''}`
        }}
      />
      <ActionButton
        label={`Discard${number}`}
        name={`Discard ${what}`}
        title={`Discard ${plural(matching, 'dead letter')}`}
        confirm={`Discard ${whole(matching)}`}
        needs="operate"
        topic={topic}
        plain={plain}
        danger
        typed={String(matching)}
        about={JSON.stringify(filter)}
        text={async signal => discardText((await dryRun('discard', signal)).matching)}
        run={async () => {
          const { discarded } = await write<{ discarded: number }>('POST', `${place}/discard`, filter)
          done()
          return `Discarded ${plural(discarded, 'dead letter')}${atNow()}.`
        }}
      />
    </>
  )
}
