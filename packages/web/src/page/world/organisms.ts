import { at, get } from '../http.ts'
import type { Moment, Organism, OrganismFacts } from './organism.ts'

const organismsOf = (runId: string, id: number): string => at('runs', runId, 'organisms', id)

export const organismsAt = async (runId: string, tick: number, signal?: AbortSignal): Promise<readonly Organism[]> =>
  (await get<{ organisms: Organism[] }>(at('runs', runId, 'ticks', tick, 'organisms'), signal ? { signal } : {}))
    .organisms

export const factsOf = (runId: string, id: number): Promise<OrganismFacts> => get(organismsOf(runId, id))

export const lifeOf = async (runId: string, id: number): Promise<readonly Moment[]> =>
  (await get<{ life: Moment[] }>(`${organismsOf(runId, id)}/life`, { query: { limit: 200 } })).life

export const familyOf = (
  runId: string,
  id: number,
): Promise<{ readonly ancestors: readonly OrganismFacts[]; readonly children: readonly OrganismFacts[] }> =>
  get(`${organismsOf(runId, id)}/lineage`, { query: { limit: 20 } })
