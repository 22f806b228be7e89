import { get } from '../http.ts'

type History = { readonly series: { readonly [name: string]: { readonly consumed?: readonly (number | null)[] } } }

/** The rate of a group when it last worked: the mean over the last hour, without idle times. */
export async function speedOf(topic: string, group: string, signal: AbortSignal): Promise<number | undefined> {
  const name = `group:${topic}/${group}`
  const { series } = await get<History>('/history', { signal, query: { series: name, step: '10s', points: 360 } })
  return meanOfWork(series[name]?.consumed ?? [])
}

export function meanOfWork(values: readonly (number | null)[]): number | undefined {
  const worked = values.filter(value => value !== null && value > 0) as number[]
  return worked.length === 0 ? undefined : worked.reduce((sum, value) => sum + value, 0) / worked.length
}
