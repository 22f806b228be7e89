import { query } from '../../address.ts'
import { at, get } from '../../http.ts'
import { type Loaded, useLoaded } from '../../parts/load.ts'
import type { Lanes } from '../../shapes.ts'

const EVERY_MS = 1_000
const BUCKETS = 200

/** The zoomed part as message ids; without an end it extends to now. */
export type Zoom = { readonly from: number | undefined; readonly to: number | undefined }

/** The view is part of the address. */
export function zoomed(): Zoom {
  const id = (name: string): number | undefined => {
    const given = query.value.get(name)
    return given !== null && /^\d{1,15}$/.test(given) ? Number(given) : undefined
  }
  return { from: id('from'), to: id('to') }
}

export function useLanes(topic: string, { from, to }: Zoom): Loaded<Lanes> {
  return useLoaded(
    signal => get<Lanes>(`${at('topics', topic)}/lanes`, { signal, query: { from, to, buckets: BUCKETS } }),
    [topic, from, to],
    EVERY_MS,
  )
}
