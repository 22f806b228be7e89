import type { GroupHealth, Tidemark } from 'tidemark'
import { type Command, type Example, type OptionTable, YES } from '../command.ts'
import { confirm } from '../confirm.ts'
import { DATABASE, withTopics } from '../database.ts'
import { UsageError } from '../errors.ts'
import { EXIT } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { table } from '../output/table.ts'
import { CONSUMER_HEADINGS, consumerRow, GROUP_HEADINGS, groupRow, RETRY_HEADINGS, retryRow } from './group-rows.ts'

/** A queue has one group, which has no name. */
const TOPIC_AND_GROUP = [{ name: 'topic' }, { name: 'group', optional: true }] as const

export const list: Command = {
  name: 'groups list',
  summary: 'Lists the groups with their health, of one topic or of all',
  arguments: [{ name: 'topic', optional: true }],
  options: DATABASE,
  examples: [{ run: 'tidemark groups list orders', what: 'who is subscribed, how far each is, and what waits' }],
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const one = given.argument('topic')
      const topics = one === '' ? (await tm.admin.topics()).map(({ topic }) => topic) : [one]
      const groups: GroupHealth[] = []
      for (const topic of topics) groups.push(...(await tm.admin.groups(topic)))
      surroundings.output.result(groups, () => table(GROUP_HEADINGS, groups.map(groupRow)))
      return EXIT.done
    }),
}

export const consumers: Command = {
  name: 'groups consumers',
  summary: 'Lists the consumers of a group, or of all groups of a topic, in every process',
  arguments: TOPIC_AND_GROUP,
  options: DATABASE,
  examples: [{ run: 'tidemark groups consumers orders email', what: 'what each has done, how fast, and when last' }],
  run: (given, surroundings) =>
    withTopics(given, surroundings, async tm => {
      const group = given.argument('group')
      const found = await tm.admin.consumers(given.argument('topic'), group === '' ? {} : { group })
      surroundings.output.result(found, () => table(CONSUMER_HEADINGS, found.map(consumerRow)))
      return EXIT.done
    }),
}

export const retries: Command = {
  name: 'groups retries',
  summary: 'Lists the messages that wait to be delivered to a group again, by id',
  arguments: TOPIC_AND_GROUP,
  options: {
    after: { value: '<id>', help: 'those after this message, for the next page' },
    limit: { value: '<n>', help: 'at most so many; 100 if not said' },
    ...DATABASE,
  },
  examples: [{ run: 'tidemark groups retries orders email', what: 'when each is due, how often it failed, and why' }],
  run: (given, surroundings) => {
    const group = given.argument('group')
    const query = present({
      group: group === '' ? undefined : group,
      after: given.whole('after', { min: 0 }),
      limit: given.whole('limit', { max: 1_000 }),
    })
    return withTopics(given, surroundings, async tm => {
      const found = await tm.admin.retries(given.argument('topic'), query)
      surroundings.output.result(found, () => table(RETRY_HEADINGS, found.map(retryRow)))
      return EXIT.done
    })
  },
}

type Deed = {
  readonly verb: string
  readonly summary: string
  readonly options?: OptionTable
  readonly example: Example
  /** What is done for good, as the beginning of a sentence. */
  readonly danger?: string
  /** Reads what was given, and says what to do with it. */
  prepare(given: Given): Act
}

/** What came of it, in words and as fields. */
type Act = (tm: Tidemark, topic: string, group: string) => Promise<{ readonly text: string; readonly fields: object }>

function deed({ verb, summary, options = {}, example, danger, prepare }: Deed): Command {
  return {
    name: `groups ${verb}`,
    summary,
    arguments: TOPIC_AND_GROUP,
    options: { ...options, ...(danger !== undefined && YES), ...DATABASE },
    examples: [example],
    run: (given, surroundings) => {
      const act = prepare(given)
      const topic = given.argument('topic')
      const group = given.argument('group')
      const who = group === '' ? `the queue '${topic}'` : `group '${group}' of '${topic}'`
      return withTopics(given, surroundings, async tm => {
        if (danger !== undefined) await confirm(given, `${danger} ${who}`, surroundings.interrupted)
        const { text, fields } = await act(tm, topic, group)
        surroundings.output.result({ topic, group, ...fields }, () => [`${who} ${text}`])
        return EXIT.done
      })
    },
  }
}

export const pause = deed({
  verb: 'pause',
  summary: 'Lets a group get nothing more, wherever its consumers run',
  example: { run: 'tidemark groups pause orders email', what: 'its messages are kept meanwhile' },
  prepare: () => async (tm, topic, group) => {
    await tm.admin.pauseGroup(topic, group)
    return { text: 'is paused', fields: { status: 'PAUSED' } }
  },
})

export const resume = deed({
  verb: 'resume',
  summary: 'Lets a paused group go on',
  example: { run: 'tidemark groups resume orders email', what: 'where it was' },
  prepare: () => async (tm, topic, group) => {
    await tm.admin.resumeGroup(topic, group)
    return { text: 'goes on', fields: { status: 'ACTIVE' } }
  },
})

export const cancel = deed({
  verb: 'cancel',
  summary: 'Ends a subscription for good; nothing is kept for it any more',
  danger: 'Cancelling',
  example: { run: 'tidemark groups cancel orders email --yes', what: 'its consumers stop' },
  prepare: () => async (tm, topic, group) => {
    await tm.admin.cancelGroup(topic, group)
    return { text: 'is cancelled', fields: { status: 'CANCELLED' } }
  },
})

export const resurrect = deed({
  verb: 'resurrect',
  summary: 'Brings a dead group back, where it stopped',
  options: {
    'from-now': { help: 'begins at the present instead; what it missed is lost to it' },
    'max-messages': { value: '<n>', help: 'the newest so many of what it missed' },
  },
  example: {
    run: 'tidemark groups resurrect orders email --max-messages 10000',
    what: 'and the newest 10 000 come back',
  },
  prepare: given => {
    const maxMessages = given.whole('max-messages', { min: 0 })
    const fromNow = given.flag('from-now')
    if (fromNow && maxMessages !== undefined) throw new UsageError('--from-now and --max-messages exclude each other')
    const options = fromNow
      ? { backfill: false as const }
      : maxMessages === undefined
        ? {}
        : { backfill: { maxMessages } }
    return async (tm, topic, group) => {
      const resurrected = await tm.admin.resurrectGroup(topic, group, options)
      const { skipped, lost } = resurrected
      return {
        text: `is back; ${skipped} messages were left out, ${lost} were cleaned up meanwhile`,
        fields: resurrected,
      }
    }
  },
})

export const acknowledgeLoss = deed({
  verb: 'acknowledge-loss',
  summary: 'Take note of the messages that a group has lost; health shows them until then',
  example: { run: 'tidemark groups acknowledge-loss orders email', what: 'the count itself stays' },
  prepare: () => async (tm, topic, group) => {
    const { acknowledged } = await tm.admin.acknowledgeLoss(topic, group)
    return { text: `had lost ${acknowledged} messages that nobody had acknowledged`, fields: { acknowledged } }
  },
})

export const reset = deed({
  verb: 'reset',
  summary: 'Moves a group to a position, back or forth',
  options: { to: { value: '<position>', help: 'now, beginning, a time (2026-05-01T12:00:00Z) or a message id' } },
  example: {
    run: 'tidemark groups reset orders email --to beginning',
    what: 'it gets everything that is kept once more',
  },
  prepare: given => {
    const to = given.position('to')
    if (to === undefined) throw new UsageError('Reset it to where? Give --to now, beginning, a time or a message id')
    return async (tm, topic, group) => {
      await tm.admin.resetGroup(topic, group, to)
      return { text: `is at ${given.text('to')}`, fields: { to } }
    }
  },
})

export const remove = deed({
  verb: 'remove',
  summary: 'Cancels a group, waits for its work in flight, and deletes it; its dead letters stay',
  danger: 'Removing',
  options: { timeout: { value: '<duration>', help: "how long to wait for its work: '10s' if not said" } },
  example: { run: 'tidemark groups remove orders email --yes', what: 'without asking' },
  prepare: given => {
    const timeout = given.duration('timeout')
    return async (tm, topic, group) => {
      const removed = await tm.admin.removeGroup(topic, group, timeout === undefined ? {} : { timeout })
      return { text: `is removed; ${removed.abandoned} messages were in flight`, fields: removed }
    }
  },
})

export const forceComplete: Command = {
  name: 'groups force-complete',
  summary: 'Reference topics: what waits only for groups that are gone, and is old enough, waits no longer',
  arguments: [{ name: 'topic' }],
  options: { 'older-than': { value: '<duration>', help: 'how old a message must be' }, ...YES, ...DATABASE },
  examples: [
    { run: 'tidemark groups force-complete orders --older-than 24h --yes', what: 'so that it can be cleaned up' },
  ],
  run: (given, surroundings) => {
    const topic = given.argument('topic')
    const olderThan = given.duration('older-than')
    if (olderThan === undefined) throw new UsageError("How old must they be? Give --older-than, for example '24h'")
    return withTopics(given, surroundings, async tm => {
      await confirm(given, `Completing what waits in '${topic}' for groups that are gone`, surroundings.interrupted)
      const completed = await tm.admin.completeOrphans(topic, { olderThan })
      surroundings.output.result({ topic, completed }, () => [`${completed} messages of '${topic}' wait no longer`])
      return EXIT.done
    })
  },
}
