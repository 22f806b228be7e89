import { InvalidTransitionError, SubscriptionGoneError } from 'tidemark'
import type { SubscriptionStatus, TopicRecord } from 'tidemark/store'
import { GroupGone } from './loaded-facts.ts'

type Named = { readonly group: string }

/** The result of a change, or the error of one that the group's state does not allow. */
export function allowed<T>(
  topic: TopicRecord,
  { group }: Named,
  to: SubscriptionStatus | 'REMOVED',
  result: T | { readonly refused: SubscriptionStatus },
): T {
  if (typeof result === 'object' && result !== null && 'refused' in result) {
    throw new InvalidTransitionError(topic.name, group, result.refused, to)
  }
  return result as T
}

/** A group that is gone is told as such. */
export async function orGone<T>(topic: Pick<TopicRecord, 'name'>, { group }: Named, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof GroupGone) throw new SubscriptionGoneError(topic.name, group)
    throw error
  }
}
