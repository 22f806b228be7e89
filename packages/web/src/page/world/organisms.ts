import { at, get } from '../http.ts'
import type { Moment, Organism, OrganismFacts } from './organism.ts'

const pathOf = (runId: string, id: number): string => at('runs', runId, 'organisms', id)

/** Energy over a life, in about as many points as a sparkline has pixels. */
const LIFE_POINTS = 200
const MOST_CHILDREN = 50

export const organismsAt = async (runId: string, tick: number, signal?: AbortSignal): Promise<readonly Organism[]> =>
  (await get<{ organisms: Organism[] }>(at('runs', runId, 'ticks', tick, 'organisms'), signal ? { signal } : {}))
    .organisms

export const factsOf = (runId: string, id: number): Promise<OrganismFacts> => get(pathOf(runId, id))

export const lifeOf = async (runId: string, id: number): Promise<readonly Moment[]> =>
  (await get<{ life: Moment[] }>(`${pathOf(runId, id)}/life`, { query: { limit: LIFE_POINTS } })).life

export const lifeBetween = async (runId: string, id: number, from: number, to: number): Promise<readonly Moment[]> =>
  (await get<{ life: Moment[] }>(`${pathOf(runId, id)}/life`, { query: { from, to, limit: to - from + 1 } })).life

export const childrenOf = async (runId: string, id: number): Promise<readonly OrganismFacts[]> =>
  (
    await get<{ children: readonly OrganismFacts[] }>(`${pathOf(runId, id)}/lineage`, {
      query: { limit: MOST_CHILDREN },
    })
  ).children
