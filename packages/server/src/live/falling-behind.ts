import type { RateHistory } from './rate-history.ts'
import type { Attention, TopicLive } from './shapes.ts'

/** Seven steps of 10 s: a whole minute between the first and the last. */
const POINTS = 7
/** Fewer messages than this come and go with every batch. */
const LEAST_GROWTH = 10

/** Active groups whose lag has grown for a minute without ever shrinking. A paused group was meant to wait. */
export function fallingBehind(topics: readonly TopicLive[], history: RateHistory, now = Date.now()): Attention[] {
  return topics.flatMap(({ topic, groups }) =>
    groups.flatMap(({ group, status, lagMessages }): Attention[] => {
      if (status !== 'ACTIVE' || lagMessages < LEAST_GROWTH) return []
      const lags = history.lags(`group:${topic}/${group}`, '10s', POINTS, now)
      if (lags === undefined || !isGrowing(lags)) return []
      const more = lagMessages - (lags[0] ?? 0)
      return [
        {
          severity: 'warning',
          kind: 'falling-behind',
          topic,
          group,
          since: null,
          count: lagMessages,
          text: `${group === '' ? `The queue ${topic}` : `${topic} / ${group}`} falls behind: ${lagMessages} messages waiting, ${more} more than a minute ago`,
        },
      ]
    }),
  )
}

function isGrowing(lags: readonly number[]): boolean {
  const [first = 0] = lags
  const last = lags.at(-1) ?? 0
  return last - first >= LEAST_GROWTH && lags.every((lag, index) => index === 0 || lag >= (lags[index - 1] ?? 0))
}
