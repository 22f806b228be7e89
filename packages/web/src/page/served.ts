import { effect } from '@preact/signals'
import { get, Problem } from './http.ts'
import { refreshed } from './live.ts'

type Served = { readonly serves: { readonly pipeline: boolean; readonly runs: boolean } }

let asked: Promise<Served> | undefined

/** Another server may have come back. */
effect(() => {
  if (refreshed.value >= 0) asked = undefined
})

/**
 * Rejects as the server would if it does not serve this. Asking first, and once, spares a refused request at every
 * interval, which the browser writes into its console.
 */
export async function requireServed(what: 'pipeline' | 'runs'): Promise<void> {
  asked ??= get<Served>('/server').catch(error => {
    asked = undefined
    throw error
  })
  const { serves } = await asked
  if (!serves[what]) throw new Problem(404, 'TIDEMARK_NOT_SERVED', 'This server does not serve it')
}
