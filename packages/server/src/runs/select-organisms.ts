import type { Organism } from '@tidemark/pipeline'
import { BadRequestError } from '../errors.ts'

export type OrganismOrder = 'id' | 'energy'

export type Selection = {
  readonly isInside: (position: readonly number[]) => boolean
  readonly lineage: number | undefined
  readonly sort: OrganismOrder
  /** Place after which the page begins. */
  readonly after: string | undefined
  readonly limit: number
}

export type SelectedOrganisms = {
  readonly organisms: readonly Organism[]
  /** Number of all that match. */
  readonly total: number
  readonly next: string | null
}

/** By id, or by energy, the most first, and by id where that is equal. */
export function selectOrganisms(all: readonly Organism[], selection: Selection): SelectedOrganisms {
  const { isInside, lineage, sort, after, limit } = selection
  const compare = sort === 'energy' ? byEnergy : byId
  const matching = all.filter(each => (lineage === undefined || each.lineage === lineage) && isInside(each.position))
  const place = after === undefined ? undefined : placeOf(after, sort)
  const rest = place === undefined ? matching : matching.filter(each => compare(each, place) > 0)
  const sorted = rest.sort(compare)
  const organisms = sorted.slice(0, limit)
  const last = organisms.at(-1)
  const next = sorted.length > limit && last !== undefined ? nextOf(last, sort) : null
  return { organisms, total: matching.length, next }
}

type Place = Pick<Organism, 'id' | 'energy'>

const byId = (one: Place, other: Place): number => one.id - other.id
/** Energy that is no number comes last. */
const energyOf = ({ energy }: Place): number => (Number.isNaN(energy) ? Number.NEGATIVE_INFINITY : energy)
function byEnergy(one: Place, other: Place): number {
  const [a, b] = [energyOf(one), energyOf(other)]
  return a === b ? byId(one, other) : b - a
}

const nextOf = (last: Place, sort: OrganismOrder): string =>
  sort === 'energy' ? `${energyOf(last)}/${last.id}` : String(last.id)

function placeOf(after: string, sort: OrganismOrder): Place {
  const [first = '', second] = after.split('/')
  const [energy, id] = sort === 'energy' ? [Number(first), Number(second)] : [0, Number(first)]
  if (Number.isSafeInteger(id) && !Number.isNaN(energy) && (second !== undefined) === (sort === 'energy')) {
    return { energy, id }
  }
  throw new BadRequestError("'after' is not a position in this list. Send the 'next' of a page with the same sort")
}
