import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { query } from '../../address.ts'
import { at, get } from '../../http.ts'
import { on, watchInDetail } from '../../live.ts'
import { type Loaded, useLoaded } from '../../parts/load.ts'
import type { Lanes, TopicDetail } from '../../shapes.ts'
import { afterEvent, zoomedLanes } from './merged-lanes.ts'

/** Only what lies in the zoomed part: where the groups stand comes live. Each who zooms asks for a part of their own. */
const EVERY_MS = 5_000
const BUCKETS = 200

/** The zoomed part as message ids; without an end it extends to now. */
export type Zoom = { readonly from: number | undefined; readonly to: number | undefined }

/** The view is part of the address. */
export function zoomed(): Zoom {
  const id = (name: string): number | undefined => {
    const given = query.value.get(name)
    return given !== null && /^\d{1,15}$/.test(given) ? Number(given) : undefined
  }
  const [from, to] = [id('from'), id('to')]
  return from !== undefined && to !== undefined && to < from ? { from: undefined, to: undefined } : { from, to }
}

type LanesNow = Pick<Loaded<Lanes>, 'error' | 'reload'> & { readonly lanes: Lanes | undefined }

/** The lanes of a topic: loaded once for the first look, then as the stream reports them. */
export function useLanes(topic: string, zoom: Zoom): LanesNow {
  const { from, to } = zoom
  const isZoomed = from !== undefined || to !== undefined
  const live = useSignal<Lanes | undefined>(undefined)
  useEffect(() => {
    const stop = on<TopicDetail>('lanes', event => {
      if (event.topic === topic) live.value = afterEvent(live.peek(), event)
    })
    const leave = watchInDetail(`topic:${topic}`)
    return () => {
      stop()
      leave()
    }
  }, [topic])
  const loaded = useLoaded(
    signal => get<Lanes>(`${at('topics', topic)}/lanes`, { signal, query: { from, to, buckets: BUCKETS } }),
    [topic, from, to],
    isZoomed ? EVERY_MS : undefined,
  )
  const first = loaded.value.value
  const lanes = isZoomed ? first && zoomedLanes(first, live.value) : (live.value ?? first)
  return { error: loaded.error, reload: loaded.reload, lanes }
}
