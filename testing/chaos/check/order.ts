/** The promised order (docs/reference/guarantees.md), and invariant 6: watermarks never go back. */
import { isClaimLost, isRewound } from './excuses.ts'
import type { Delivery, History, Publish } from './history.ts'
import { nameOf, type Violation } from './violation.ts'

export const checkOrder = (history: History): Violation[] => [...findDisorder(history), ...findFallen(history)]

/**
 * To a single reader, messages come after those whose publish was answered before their own began. Retries and what was
 * claimed again come later, so only first versions are compared, and only within one life of the reader.
 */
function* findDisorder(history: History): Generator<Violation> {
  const published = new Map(history.publishes.map(publish => [publish.key, publish]))
  for (const { topic, group } of history.ordered) {
    const deliveries = history.stories
      .filter(story => story.topic === topic && story.group === group)
      .flatMap(({ deliveries }) => deliveries.filter(({ version, attempt }) => version === 1 && attempt === 1))
      .sort((a, b) => a.at - b.at)
    for (const life of Map.groupBy(deliveries, ({ pid }) => pid).values()) {
      yield* compareLife(history, life, published)
    }
  }
}

function* compareLife(
  history: History,
  life: readonly Delivery[],
  published: ReadonlyMap<string, Publish>,
): Generator<Violation> {
  /** The publish that began last among those delivered so far. */
  let latest: { publish: Publish; delivery: Delivery } | undefined
  for (const delivery of life) {
    const publish = published.get(delivery.key)
    if (publish === undefined) continue
    if (latest !== undefined && publish.outcome === 'ok' && publish.to < latest.publish.from) {
      const span = { from: latest.delivery.at, to: delivery.at }
      const { topic } = delivery
      if (!isRewound(history, delivery, span) && !isClaimLost(history, topic, span)) {
        yield {
          rule: 'order',
          what: `${nameOf(delivery)} came after ${latest.publish.key}, which was published later`,
          key: delivery.key,
        }
      }
    }
    if (latest === undefined || publish.from > latest.publish.from) latest = { publish, delivery }
  }
}

function* findFallen(history: History): Generator<Violation> {
  for (const samples of Map.groupBy(history.watermarks, ({ topic, group }) =>
    JSON.stringify([topic, group]),
  ).values()) {
    for (const [index, sample] of samples.entries()) {
      const before = samples[index - 1]
      if (before === undefined || sample.position >= before.position) continue
      const span = { from: before.at, to: sample.at }
      const { topic, group, position } = sample
      // A claim moves it too, and may be lost in a crash.
      if (isRewound(history, sample, span) || isClaimLost(history, topic, span)) continue
      const what = `group '${group}' of ${topic}: from ${before.position} to ${position}`
      yield { rule: 'watermark went back', what }
    }
  }
}
