/** The journals of a run, arranged for set arithmetic: publishes by name, and what each group did with each message. */
import type {
  DeliveredEntry,
  EventEntry,
  LossEntry,
  OperateEntry,
  Phase,
  PublishEntry,
  SettleEntry,
  Stamped,
  WatermarkEntry,
} from '../journal.ts'

/** From the call to its answer; a call without an answer may take effect at any later time. */
export type Span = { readonly from: number; readonly to: number }

export type Publish = Span & {
  readonly key: string
  readonly topic: string
  readonly outcome: Exclude<Phase, 'invoked'>
  readonly messageId: string | undefined
  readonly pid: number
  readonly call: number
  readonly round: number
}

export type Delivery = Stamped<DeliveredEntry>

export type Settlement = Span & {
  readonly what: 'ack' | 'nack'
  readonly outcome: Exclude<Phase, 'invoked'>
  readonly version: number
  readonly attempt: number
  readonly error: string | undefined
}

/** One message at one group. */
export type Story = {
  readonly topic: string
  readonly group: string
  readonly key: string
  readonly messageId: string
  readonly deliveries: Delivery[]
  readonly settlements: Settlement[]
}

type Operation = Span & { readonly verb: string; readonly topic: string; readonly group: string | undefined }

type DeadLetter = { readonly messageId: string; readonly key: string; readonly attempts: number }

/** What the database holds after everything was drained. */
export type FinalGroup = { readonly topic: string; readonly group: string; readonly deadLetters: readonly DeadLetter[] }

export type History = {
  readonly publishes: readonly Publish[]
  readonly stories: readonly Story[]
  readonly operations: readonly Operation[]
  readonly losses: readonly LossEntry[]
  readonly watermarks: readonly Stamped<WatermarkEntry>[]
  readonly events: readonly Stamped<EventEntry>[]
  readonly groups: readonly FinalGroup[]
  readonly maxAttempts: number
  /** Groups with one reader, whose messages come in the order of their publishes. */
  readonly ordered: readonly { readonly topic: string; readonly group: string }[]
}

type Given = Pick<History, 'groups' | 'maxAttempts' | 'ordered'>

export function historyOf(entries: readonly Stamped[], given: Given): History {
  const ofKind = <What extends Stamped['what']>(...kinds: What[]) =>
    entries.filter((entry): entry is Stamped & { what: What } => kinds.includes(entry.what as What))
  return {
    ...given,
    publishes: publishesIn(ofKind('publish') as Stamped<PublishEntry>[]),
    stories: storiesIn(ofKind('delivered', 'ack', 'nack') as Stamped<DeliveredEntry | SettleEntry>[]),
    operations: operationsIn(ofKind('operate') as Stamped<OperateEntry>[]),
    losses: ofKind('loss', 'crash') as LossEntry[],
    watermarks: ofKind('watermark') as Stamped<WatermarkEntry>[],
    events: ofKind('event') as Stamped<EventEntry>[],
  }
}

const answerOf = ({ pid, call }: { readonly pid: number; readonly call: number }): string => `${pid}/${call}`

function publishesIn(entries: readonly Stamped<PublishEntry>[]): Publish[] {
  const answers = new Map(entries.filter(({ phase }) => phase !== 'invoked').map(entry => [answerOf(entry), entry]))
  return entries
    .filter(({ phase }) => phase === 'invoked')
    .flatMap(invoked => {
      const answer = answers.get(answerOf(invoked))
      const { pid, call, topic, round } = invoked
      return invoked.keys.map((key, index) => ({
        ...{ key, topic, pid, call, round },
        from: invoked.at,
        to: answer?.at ?? Number.POSITIVE_INFINITY,
        outcome: outcomeOf(answer),
        messageId: answer?.messageIds?.[index] ?? invoked.messageIds?.[index],
      }))
    })
}

function storiesIn(entries: readonly Stamped<DeliveredEntry | SettleEntry>[]): Story[] {
  const stories = new Map<string, Story>()
  const storyOf = ({ topic, group, key, messageId }: DeliveredEntry | SettleEntry): Story => {
    const name = JSON.stringify([topic, group, key, messageId])
    const story = stories.get(name) ?? { topic, group, key, messageId, deliveries: [], settlements: [] }
    stories.set(name, story)
    return story
  }
  const open = new Map<string, Stamped<SettleEntry>>()
  const close = (invoked: Stamped<SettleEntry>, answer?: Stamped<SettleEntry>): void => {
    const { what, version, attempt } = invoked
    const span = { from: invoked.at, to: answer?.at ?? Number.POSITIVE_INFINITY }
    storyOf(invoked).settlements.push({
      ...span,
      what,
      version,
      attempt,
      outcome: outcomeOf(answer),
      error: answer?.error,
    })
  }
  for (const entry of entries) {
    if (entry.what === 'delivered') {
      storyOf(entry).deliveries.push(entry)
      continue
    }
    const name = JSON.stringify([entry.pid, entry.topic, entry.group, entry.messageId, entry.version, entry.what])
    const invoked = open.get(name)
    if (entry.phase === 'invoked') {
      if (invoked !== undefined) close(invoked)
      open.set(name, entry)
    } else if (invoked !== undefined) {
      close(invoked, entry)
      open.delete(name)
    }
  }
  for (const invoked of open.values()) close(invoked)
  return [...stories.values()]
}

function operationsIn(entries: readonly Stamped<OperateEntry>[]): Operation[] {
  const answers = new Map(entries.filter(({ phase }) => phase !== 'invoked').map(entry => [answerOf(entry), entry]))
  return entries
    .filter(({ phase }) => phase === 'invoked')
    .flatMap(invoked => {
      const answer = answers.get(answerOf(invoked))
      if (answer?.phase === 'failed') return []
      const to = answer?.phase === 'ok' ? answer.at : Number.POSITIVE_INFINITY
      return [{ verb: invoked.verb, topic: invoked.topic, group: invoked.group, from: invoked.at, to }]
    })
}

const outcomeOf = (answer: { readonly phase: Phase } | undefined): Exclude<Phase, 'invoked'> =>
  answer === undefined || answer.phase === 'invoked' ? 'unknown' : answer.phase
