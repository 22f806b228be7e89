import type { Examination } from '../inspection.ts'
import { unsubscribedTopics } from './dead-groups.ts'
import { strayRecords, topicFacts } from './facts.ts'
import { described, statsOf } from './stats.ts'
import type { Transaction } from './transaction.ts'
import { listZombies } from './zombies.ts'

/** Call it in a read transaction. */
export function examine(tx: Transaction, most: number): Examination {
  const now = tx.now()
  const topics = described(tx, most, now)
  const strays = strayRecords(tx)
  return {
    stats: statsOf(tx, topics, now, true),
    // What belongs to no topic is reported with the first.
    facts: topics.map(({ topic, groups }, index) => {
      const facts = topicFacts(tx, topic, groups)
      return index === 0 ? { ...facts, inconsistencies: [...facts.inconsistencies, ...strays] } : facts
    }),
    zombies: listZombies(tx).map(({ topic, subscription, movedAt, waiting }) => ({
      topic: topic.name,
      group: subscription.group,
      movedAt,
      waiting,
    })),
    unsubscribed: unsubscribedTopics(tx),
    // There is one writer at a time, so no transaction can hold back what others have committed.
    horizonHolders: [],
  }
}
