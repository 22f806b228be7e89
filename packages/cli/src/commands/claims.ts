import type { Claim } from 'tidemark'
import type { Command } from '../command.ts'
import { DATABASE, withTopics } from '../database.ts'
import { EXIT } from '../exit-codes.ts'
import { present } from '../given.ts'
import { table } from '../output/table.ts'

export const list: Command = {
  name: 'claims list',
  summary: 'List the messages that consumers hold, the longest held first',
  arguments: [{ name: 'topic' }],
  options: {
    group: { value: '<group>', help: 'only claims of this group' },
    consumer: { value: '<consumer>', help: 'only claims of this consumer' },
    after: { value: '<next>', help: "'next' of the previous page" },
    limit: { value: '<n>', help: 'maximum number of claims (default 100)' },
    ...DATABASE,
  },
  examples: [{ run: 'tidemark claims list orders --group email', what: 'holder, start and expiry of each claim' }],
  run: (given, surroundings) => {
    const query = present({
      group: given.text('group'),
      consumer: given.text('consumer'),
      after: given.text('after'),
      limit: given.whole('limit', { max: 1_000 }),
    })
    return withTopics(given, surroundings, async tm => {
      const page = await tm.admin.claims(given.argument('topic'), query)
      surroundings.output.result(page, () => [
        ...table(['claim', 'group', 'consumer', 'since', 'until', 'messages', 'attempt', 'ids'], page.claims.map(row)),
        ...(page.next === null ? [] : [`more: --after ${page.next}`]),
      ])
      return EXIT.done
    })
  },
}

export const release: Command = {
  name: 'claims release',
  summary: 'Release a claim at once, even one that never expires',
  arguments: [{ name: 'topic' }, { name: 'claim' }],
  options: DATABASE,
  examples: [
    {
      run: 'tidemark claims release orders 0f6d1c7e-6a0e-4c8b-9d4e-0a3b5c2f7e11',
      what: 'its messages are redelivered; the attempt counts',
    },
  ],
  run: (given, surroundings) => {
    const topic = given.argument('topic')
    return withTopics(given, surroundings, async tm => {
      const done = await tm.admin.releaseClaim(topic, given.argument('claim'))
      surroundings.output.result(done, () => [
        `Claim of '${done.consumer}' released, messages to redeliver: ${done.released}`,
        ...(done.deadLettered > 0 ? [`${done.deadLettered} had no attempts left and were dead-lettered`] : []),
      ])
      return EXIT.done
    })
  },
}

const row = (claim: Claim): (string | number)[] => [
  claim.id,
  claim.group,
  claim.consumer,
  claim.claimedAt.toISOString(),
  claim.expiresAt?.toISOString() ?? 'never',
  claim.unsettled === claim.size ? claim.size : `${claim.unsettled} of ${claim.size}`,
  Math.max(1, ...claim.messages.map(({ attempt }) => attempt)),
  claim.firstId === claim.lastId ? (claim.firstId ?? '') : `${claim.firstId} to ${claim.lastId}`,
]
