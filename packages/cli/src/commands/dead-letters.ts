import type { DeadLetterFilter, DeadLetterMessage, Tidemark } from 'tidemark'
import { type Command, type CommandOptionTable, type Surroundings, YES } from '../command.ts'
import { confirm } from '../confirm.ts'
import { DATABASE, withTopics } from '../database.ts'
import { NotFoundError, UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { messageValue, payloadText } from '../output/message.ts'
import { facts, table } from '../output/table.ts'

const TOPIC = { name: 'topic' } as const
const SHOWN_ERROR = 60

const WHICH: CommandOptionTable = {
  group: { value: '<group>', help: 'only dead letters of this group' },
  error: { value: '<name>', help: "only dead letters with this error name, such as 'SmtpError'" },
  fingerprint: {
    value: '<digits>',
    help: "only dead letters with this kind of error, as 'dead-letters errors' lists them",
  },
  key: { value: '<key>', help: 'only dead letters with this message key' },
  limit: { value: '<n>', help: 'maximum number of dead letters, oldest first' },
  all: { help: 'every dead letter of the topic' },
  'dry-run': { help: 'only count the dead letters' },
}

export const list: Command = {
  name: 'dead-letters list',
  summary: 'List dead letters, oldest first',
  arguments: [TOPIC],
  options: {
    group: { value: '<group>', help: 'only dead letters of this group' },
    after: { value: '<id>', help: 'id of the last dead letter of the previous page' },
    limit: { value: '<n>', help: 'maximum number of entries (default 100)' },
    ...DATABASE,
  },
  examples: [
    { run: 'tidemark dead-letters list orders --group email', what: 'attempts and error of each dead letter' },
  ],
  run: (given, surroundings) => {
    const query = present({
      group: given.text('group'),
      after: given.whole('after', { min: 0 }),
      limit: given.whole('limit', { max: 1_000 }),
    })
    return withTopics(given, surroundings, async tm => {
      const letters = await tm.admin.deadLetters(given.argument('topic'), query)
      surroundings.output.result(letters.map(messageValue), () =>
        table(
          ['id', 'group', 'message', 'attempts', 'dead since', 'error'],
          letters.map(letter => [
            letter.id,
            letter.group,
            letter.messageId,
            letter.attempts,
            letter.deadAt.toISOString(),
            payloadText(`${letter.error.name}: ${letter.error.message}`).slice(0, SHOWN_ERROR),
          ]),
        ),
      )
      return EXIT.done
    })
  },
}

export const errors: Command = {
  name: 'dead-letters errors',
  summary: 'Count dead letters by kind of error, of one topic or of all',
  arguments: [{ name: 'topic', optional: true }],
  options: { group: { value: '<group>', help: 'only dead letters of this group of the topic' }, ...DATABASE },
  examples: [{ run: 'tidemark dead-letters errors orders', what: 'one line per kind, with its fingerprint' }],
  run: (given, surroundings) => {
    const [topic] = given.list('topic')
    const group = given.text('group')
    if (group !== undefined && topic === undefined) throw new UsageError('--group needs a <topic>')
    return withTopics(given, surroundings, async tm => {
      const found = await tm.admin.deadLetterErrors(present({ topic, group }))
      surroundings.output.result(found.errors, () =>
        table(
          ['fingerprint', 'topic', 'group', 'count', 'last', 'error'],
          found.errors.map(each => [
            each.fingerprint,
            each.topic,
            each.group,
            each.count,
            each.lastAt.toISOString(),
            payloadText(each.error).slice(0, SHOWN_ERROR),
          ]),
        ),
      )
      return EXIT.done
    })
  },
}

export const inspect: Command = {
  name: 'dead-letters inspect',
  summary: 'Show a dead letter with its payload, error and attempts',
  arguments: [TOPIC, { name: 'id' }],
  options: DATABASE,
  examples: [
    { run: 'tidemark dead-letters inspect orders 17', what: "the id is the one that 'dead-letters list' shows" },
  ],
  run: (given, surroundings) => {
    const topic = given.argument('topic')
    const id = given.wholeArgument('id')
    return withTopics(given, surroundings, async tm => {
      const letter = await tm.admin.deadLetter(topic, id)
      if (letter === undefined) throw new NotFoundError(`Dead letter ${id} of topic '${topic}' does not exist`)
      surroundings.output.result(messageValue(letter), () => letterText(letter))
      return EXIT.done
    })
  },
}

export const redrive: Command = {
  name: 'dead-letters redrive',
  summary: 'Redeliver dead letters, with a full set of attempts',
  arguments: [TOPIC, { name: 'id', optional: true, many: true }],
  options: { ...WHICH, ...DATABASE },
  examples: [{ run: 'tidemark dead-letters redrive orders --error SmtpError', what: 'all that failed with SmtpError' }],
  run: (given, surroundings) => {
    const topic = given.argument('topic')
    const filter = filterOf(given)
    return withTopics(given, surroundings, async tm => {
      if (given.flag('dry-run')) return await count(tm, topic, filter, surroundings)
      const done = await tm.admin.redrive(topic, filter)
      surroundings.output.result({ topic, ...done }, () => [
        `Dead letters redriven: ${done.redriven}`,
        ...(done.gone > 0 ? [`Not redriven, message cleaned up: ${done.gone}`] : []),
        ...(done.orphaned > 0 ? [`Not redriven, group not active: ${done.orphaned}`] : []),
      ])
      return EXIT.done
    })
  },
}

export const discard: Command = {
  name: 'dead-letters discard',
  summary: 'Delete dead letters permanently',
  arguments: [TOPIC, { name: 'id', optional: true, many: true }],
  options: { ...WHICH, ...YES, ...DATABASE },
  examples: [{ run: 'tidemark dead-letters discard orders 17 18 --yes', what: 'two dead letters, no confirmation' }],
  run: (given, surroundings) => {
    const topic = given.argument('topic')
    const filter = filterOf(given)
    return withTopics(given, surroundings, async tm => {
      if (given.flag('dry-run')) return await count(tm, topic, filter, surroundings)
      const which = given.flag('all') ? 'all dead letters' : 'these dead letters'
      await confirm(given, `Discarding ${which} of topic '${topic}'`, surroundings.interrupted)
      const discarded = await tm.admin.discard(topic, filter)
      surroundings.output.result({ topic, discarded }, () => [`Dead letters deleted: ${discarded}`])
      return EXIT.done
    })
  },
}

/** What a redrive or a discard would find. */
async function count(
  tm: Tidemark,
  topic: string,
  filter: DeadLetterFilter,
  { output }: Surroundings,
): Promise<ExitCode> {
  const found = await tm.admin.previewDeadLetters(topic, filter)
  output.result({ topic, ...found }, () => [
    `Matching dead letters: ${found.matching}`,
    `Their message was cleaned up: ${found.gone}`,
    `Their group is not active: ${found.orphaned}`,
  ])
  return EXIT.done
}

function filterOf(given: Given): DeadLetterFilter {
  const ids = given.list('id').map(text => {
    if (/^\d+$/.test(text)) return Number(text)
    throw new UsageError(`<id> must be a whole number, not '${text}'`)
  })
  const filter = present({
    ids: ids.length === 0 ? undefined : ids,
    group: given.text('group'),
    errorName: given.text('error'),
    fingerprint: given.text('fingerprint'),
    key: given.text('key'),
  })
  const isAll = given.flag('all')
  if (isAll && Object.keys(filter).length > 0) throw new UsageError("--all can't be combined with ids or filters")
  if (!isAll && Object.keys(filter).length === 0)
    throw new UsageError('No dead letters selected. Give ids, a filter, or --all')
  const limit = given.whole('limit')
  return { ...filter, ...(isAll && { all: true as const }), ...(limit !== undefined && { limit }) }
}

const letterText = (letter: DeadLetterMessage): string[] => [
  ...facts([
    ['id', letter.id],
    ['message', letter.messageId],
    ['group', letter.group],
    ['key', letter.key ?? ''],
    ['type', letter.type],
    ['headers', JSON.stringify(letter.headers)],
    ['published', letter.createdAt.toISOString()],
    ['dead since', letter.deadAt.toISOString()],
    ['payload', payloadText(letter.payload)],
  ]),
  '',
  ...table(
    ['attempt', 'at', 'error'],
    letter.history.map(({ attempt, at, name, message }) => [
      attempt,
      new Date(at).toISOString(),
      payloadText(`${name}: ${message}`),
    ]),
  ),
]
