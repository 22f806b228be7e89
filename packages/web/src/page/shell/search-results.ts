import { groupAddress, runAddress, topicAddress } from '../places.ts'
import type { Overview } from '../shapes.ts'

export type Result = {
  readonly kind: 'topic' | 'group' | 'service' | 'run' | 'key'
  readonly name: string
  /** Where it belongs. */
  readonly of?: string
  readonly href: string
}

const MOST_OF_A_KIND = 6
const MOST_KEY_TOPICS = 4

/** What the words find. Names that begin with them come before names that contain them. */
export function searchResults(
  words: string,
  { topics, pipeline }: Pick<Overview, 'topics' | 'pipeline'>,
  runs: readonly { readonly runId: string; readonly seed: string | null }[],
  /** The current topic: a key is searched there first. */
  here: string | undefined,
): readonly Result[] {
  const wanted = words.trim().toLowerCase()
  if (wanted === '') return []
  const services = pipeline?.nodes.filter(({ kind }) => kind === 'service') ?? []
  const found: readonly (readonly Result[])[] = [
    topics.map(({ topic }) => ({ kind: 'topic', name: topic, href: topicAddress(topic) })),
    topics.flatMap(({ topic, groups }) =>
      groups.map(
        ({ group }): Result => ({
          kind: 'group',
          name: group === '' ? 'queue' : group,
          of: topic,
          href: groupAddress(topic, group),
        }),
      ),
    ),
    services.map(({ name }) => ({ kind: 'service', name, href: `/services/${encodeURIComponent(name)}` })),
    runs.map(({ runId, seed }) => ({
      kind: 'run',
      name: runId,
      of: seed === null ? '' : `seed ${seed}`,
      href: runAddress(runId),
    })),
  ]
  return [...found.flatMap(some => best(some, wanted)), ...keys(words.trim(), topics, here)]
}

function best(results: readonly Result[], wanted: string): readonly Result[] {
  const placeOf = ({ kind, name, of = '' }: Result): number => {
    const at = name.toLowerCase().indexOf(wanted)
    return at < 0 && kind === 'run' ? of.toLowerCase().indexOf(wanted) : at
  }
  return results
    .map(result => ({ result, place: placeOf(result) }))
    .filter(({ place }) => place >= 0)
    .sort(
      (one, other) =>
        Math.min(one.place, 1) - Math.min(other.place, 1) || one.result.name.length - other.result.name.length,
    )
    .slice(0, MOST_OF_A_KIND)
    .map(({ result }) => result)
}

/** Keys are not listed anywhere, so messages are searched: of the current topic, or of the busiest. */
function keys(key: string, topics: Overview['topics'], here: string | undefined): readonly Result[] {
  return topics
    .filter(({ kept }) => kept > 0)
    .toSorted(
      (one, other) =>
        Number(other.topic === here) - Number(one.topic === here) || other.publishedPerSecond - one.publishedPerSecond,
    )
    .slice(0, here === undefined ? MOST_KEY_TOPICS : 1)
    .map(({ topic }) => ({
      kind: 'key',
      name: key,
      of: topic,
      href: `${topicAddress(topic)}/messages?key=${encodeURIComponent(key)}`,
    }))
}
