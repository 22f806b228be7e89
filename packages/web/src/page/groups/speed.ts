import { get } from '../http.ts'
import { meanOfWork } from './mean-of-work.ts'

type History = { readonly series: { readonly [name: string]: { readonly consumed?: readonly (number | null)[] } } }

/** The rate of a group when it last worked: the mean over the last hour, without idle times. */
export async function speedOf(topic: string, group: string, signal: AbortSignal): Promise<number | undefined> {
  const name = `group:${topic}/${group}`
  const { series } = await get<History>('/history', { signal, query: { series: name, step: '10s', points: 360 } })
  return meanOfWork(series[name]?.consumed ?? [])
}
