import type { GroupHealth, Tidemark } from 'tidemark'
import { type Command, type CommandOptionTable, type Example, YES } from '../command.ts'
import { confirm } from '../confirm.ts'
import { DATABASE, withTopics } from '../database.ts'
import { UsageError } from '../errors.ts'
import { EXIT } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { counted } from '../output/counted.ts'
import { table } from '../output/table.ts'
import { CONSUMER_HEADINGS, consumerRow, GROUP_HEADINGS, groupRow, RETRY_HEADINGS, retryRow } from './group-rows.ts'

/** A queue has one group without a name. */
const TOPIC_AND_GROUP = [{ name: 'topic' }, { name: 'group', optional: true }] as const

export const list: Command = {
  name: 'groups list',
  summary: 'List consumer groups with their status and lag, of one topic or of all',
  arguments: [{ name: 'topic', optional: true }],
  options: DATABASE,
  examples: [{ run: 'tidemark groups list orders', what: 'status, lag and messages in flight of each group' }],
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
  summary: 'List the consumers of a group or of a whole topic, in every process',
  arguments: TOPIC_AND_GROUP,
  options: DATABASE,
  examples: [{ run: 'tidemark groups consumers orders email', what: 'throughput and last activity of each consumer' }],
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
  summary: 'List the messages that wait for redelivery to a group, by id',
  arguments: TOPIC_AND_GROUP,
  options: {
    after: { value: '<id>', help: 'id of the last message of the previous page' },
    limit: { value: '<n>', help: 'maximum number of entries (default 100)' },
    ...DATABASE,
  },
  examples: [
    { run: 'tidemark groups retries orders email', what: 'due time, attempts and last error of each message' },
  ],
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
  readonly options?: CommandOptionTable
  readonly example: Example
  /** The irreversible action, as the beginning of a sentence. */
  readonly danger?: string
  /** Validates the input, and returns what to do with it. */
  prepare(given: Given): Act
}

/** Returns the result, in words and as fields. */
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
      const who = group === '' ? `queue '${topic}'` : `group '${group}' of topic '${topic}'`
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
  summary: 'Pause delivery to a group, in every process',
  example: { run: 'tidemark groups pause orders email', what: 'messages are kept until it is resumed' },
  prepare: () => async (tm, topic, group) => {
    await tm.admin.pauseGroup(topic, group)
    return { text: 'is paused', fields: { status: 'PAUSED' } }
  },
})

export const resume = deed({
  verb: 'resume',
  summary: 'Resume delivery to a paused group',
  example: { run: 'tidemark groups resume orders email', what: 'delivery continues at its cursor' },
  prepare: () => async (tm, topic, group) => {
    await tm.admin.resumeGroup(topic, group)
    return { text: 'is active again', fields: { status: 'ACTIVE' } }
  },
})

export const cancel = deed({
  verb: 'cancel',
  summary: 'Cancel a subscription permanently; messages are no longer kept for it',
  danger: 'Cancelling',
  example: { run: 'tidemark groups cancel orders email --yes', what: 'its consumers stop in every process' },
  prepare: () => async (tm, topic, group) => {
    await tm.admin.cancelGroup(topic, group)
    return { text: 'is cancelled', fields: { status: 'CANCELLED' } }
  },
})

export const resurrect = deed({
  verb: 'resurrect',
  summary: 'Reactivate a dead group at the position where it stopped',
  options: {
    'from-now': { help: 'start at the newest message instead; the group never receives what it missed' },
    'max-messages': { value: '<n>', help: 'maximum number of missed messages to deliver, newest first' },
  },
  example: {
    run: 'tidemark groups resurrect orders email --max-messages 10000',
    what: 'deliver the newest 10 000 of the missed messages',
  },
  prepare: given => {
    const maxMessages = given.whole('max-messages', { min: 0 })
    const fromNow = given.flag('from-now')
    if (fromNow && maxMessages !== undefined) throw new UsageError("--from-now and --max-messages can't be combined")
    const options = fromNow
      ? { backfill: false as const }
      : maxMessages === undefined
        ? {}
        : { backfill: { maxMessages } }
    return async (tm, topic, group) => {
      const resurrected = await tm.admin.resurrectGroup(topic, group, options)
      const { skipped, lost } = resurrected
      return {
        text: `is active again; skipped ${counted(skipped, 'message')}, and ${lost} had been cleaned up`,
        fields: resurrected,
      }
    }
  },
})

export const acknowledgeLoss = deed({
  verb: 'acknowledge-loss',
  summary: 'Acknowledge the messages that a group has lost, so that health no longer reports them',
  example: { run: 'tidemark groups acknowledge-loss orders email', what: 'the total count remains' },
  prepare: () => async (tm, topic, group) => {
    const { acknowledged } = await tm.admin.acknowledgeLoss(topic, group)
    return { text: `had ${acknowledged} unacknowledged lost messages`, fields: { acknowledged } }
  },
})

export const reset = deed({
  verb: 'reset',
  summary: 'Move a group to a position, backward or forward',
  options: {
    to: { value: '<position>', help: 'target position: now, beginning, a time (2026-05-01T12:00:00Z) or a message id' },
  },
  example: {
    run: 'tidemark groups reset orders email --to beginning',
    what: 'redeliver all retained messages',
  },
  prepare: given => {
    const to = given.position('to')
    if (to === undefined) throw new UsageError('No position given. Use --to now, beginning, a time or a message id')
    return async (tm, topic, group) => {
      await tm.admin.resetGroup(topic, group, to)
      return { text: `was moved to ${given.text('to')}`, fields: { to } }
    }
  },
})

export const remove = deed({
  verb: 'remove',
  summary: 'Cancel a group, wait for its messages in flight, and delete it; its dead letters remain',
  danger: 'Removing',
  options: { timeout: { value: '<duration>', help: "maximum wait for messages in flight (default '10s')" } },
  example: { run: 'tidemark groups remove orders email --yes', what: 'no confirmation' },
  prepare: given => {
    const timeout = given.duration('timeout')
    return async (tm, topic, group) => {
      const removed = await tm.admin.removeGroup(topic, group, timeout === undefined ? {} : { timeout })
      return { text: `was removed with ${counted(removed.abandoned, 'message')} in flight`, fields: removed }
    }
  },
})

export const forceComplete: Command = {
  name: 'groups force-complete',
  summary: 'Complete old messages of a reference topic that wait only for groups that no longer exist',
  arguments: [{ name: 'topic' }],
  options: {
    'older-than': { value: '<duration>', help: "minimum age of the messages, such as '24h'" },
    ...YES,
    ...DATABASE,
  },
  examples: [
    { run: 'tidemark groups force-complete orders --older-than 24h --yes', what: 'clean-up can then remove them' },
  ],
  run: (given, surroundings) => {
    const topic = given.argument('topic')
    const olderThan = given.duration('older-than')
    if (olderThan === undefined) throw new UsageError("No age given. Use --older-than, for example '24h'")
    return withTopics(given, surroundings, async tm => {
      await confirm(
        given,
        `Completing messages of topic '${topic}' that wait only for removed groups`,
        surroundings.interrupted,
      )
      const completed = await tm.admin.completeOrphans(topic, { olderThan })
      surroundings.output.result({ topic, completed }, () => [`Messages of topic '${topic}' completed: ${completed}`])
      return EXIT.done
    })
  },
}
