import { at, get } from '../http.ts'
import type { Moment, Organism, OrganismFacts } from './organism.ts'
import type { OrganismColumns } from './run-shapes.ts'

const pathOf = (runId: string, id: number): string => at('runs', runId, 'organisms', id)

/** Energy over a life, in about as many points as a sparkline has pixels. */
const LIFE_POINTS = 200
const MOST_CHILDREN = 50
const PAGE = 10_000
/** More are not listed; their trails have the colour of the others. */
const MOST_ORGANISMS = 100_000

/** All organisms of a tick, page by page. */
export async function organismsAt(runId: string, tick: number): Promise<readonly Organism[]> {
  const found: Organism[] = []
  let after: string | undefined
  do {
    const page = await get<OrganismColumns>(at('runs', runId, 'organisms'), { query: { tick, after, limit: PAGE } })
    found.push(...rowsOf(page))
    after = page.next ?? undefined
  } while (after !== undefined && found.length < MOST_ORGANISMS)
  return found
}

const rowsOf = (page: Omit<OrganismColumns, 'tick' | 'total' | 'next'>): Organism[] =>
  page.id.map((id, row) => ({
    id,
    parentId: page.parentId[row] ?? null,
    birthTick: page.birthTick[row] ?? 0,
    lineage: page.lineage[row] ?? 0,
    energy: page.energy[row] ?? 0,
    position: page.position.map(column => column[row] ?? 0),
    isDead: page.isDead[row] ?? false,
  }))

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
