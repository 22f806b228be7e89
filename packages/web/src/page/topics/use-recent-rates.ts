import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { get } from '../http.ts'
import { overview } from '../live.ts'
import { advance, batches, fromHistory, POINTS, type RecentRates, slotOf } from './recent-rates.ts'

/** The rates of the given topics over five minutes; each is requested once, when it first becomes visible. */
export function useRecentRates(topics: readonly string[]): (topic: string) => readonly (number | null)[] {
  const rates = useSignal<RecentRates>(new Map())
  const asked = useRef(new Set<string>())
  const found = overview.value
  const rateOf = (topic: string): number | undefined =>
    found?.topics.find(each => each.topic === topic)?.publishedPerSecond
  useEffect(() => {
    const unknown = topics.filter(topic => !asked.current.has(topic))
    for (const topic of unknown) asked.current.add(topic)
    for (const some of batches(unknown)) void ask(some)
  }, [topics.join()])
  const ask = async (some: readonly string[]): Promise<void> => {
    const series = some.map(topic => `topic:${topic}`).join()
    try {
      const history = await get<Parameters<typeof fromHistory>[1]>('/history', {
        query: { series, step: '10s', points: POINTS + 1 },
      })
      rates.value = fromHistory(rates.value, history, some)
    } catch {
      // A missing sparkline does no harm: it begins with the live figures.
      rates.value = fromHistory(rates.value, { end: new Date().toISOString(), series: {} }, some)
    }
  }
  const slot = found === undefined ? 0 : slotOf(Date.parse(found.at))
  useEffect(() => {
    rates.value = advance(rates.value, slot - 1, rateOf)
  }, [slot])
  return topic => {
    const known = rates.value.get(topic)
    return known === undefined ? [] : [...known.values, rateOf(topic) ?? null]
  }
}
