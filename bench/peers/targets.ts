import { type Figure, figure, ratioAtLeast, ratioAtMost, type Target } from '../figure.ts'
import { median } from '../statistics.ts'
import { BARE, OURS_POSTGRES, OURS_SQLITE } from './entrants.ts'
import { LINES, type Line, type LineName } from './line.ts'
import type { Result, Results } from './results.ts'

/** Peers that keep their messages in the same database, and which of ours they are held against. */
const SQL_PEERS: { readonly [ours: string]: readonly string[] } = {
  [OURS_POSTGRES]: ['pg-boss', 'graphile-worker', 'bullmq-postgres', 'pgmq'],
  [OURS_SQLITE]: ['plainjob'],
}

const FAR_AHEAD: readonly LineName[] = ['publish-batch', 'drain', 'fan-out-16', 'fan-out-64']
/** Messages are kept for their retention and memory is a question of settings: shown, and no contest. */
const NOT_JUDGED: readonly LineName[] = ['stored', 'memory', 'server-memory']

/** Every line of ours next to every other contender, with a target where there is one. */
export function compareAll({ all }: Results): Figure[] {
  const ours = all.filter(({ entrant }) => entrant.id in SQL_PEERS)
  const peers = all.filter(({ entrant }) => !(entrant.id in SQL_PEERS))
  return ours.flatMap(one => peers.flatMap(peer => LINES.flatMap(line => compare(one, peer, line))))
}

function compare(ours: Result, peer: Result, line: Line): Figure[] {
  const value = ours.values.get(line.name)
  const other = peer.values.get(line.name)
  if (value == null || other === undefined) return []
  const target = targetOf(ours.entrant.id, peer.entrant.id, line)
  const measured = { case: line.name, engine: ours.entrant.backend, ours: value, unit: line.unit }
  const compared = figure({
    ...measured,
    ...(other !== null && { raw: other }),
    ...(target && { target }),
    note: `next to ${peer.entrant.name}`,
  })
  const ratio = medianRatio(ours, peer, line.name) ?? compared.ratio
  // Who falls behind has no latency to be compared with.
  const met = target && other === null ? true : target ? target.isMet(value, ratio) : null
  return [{ ...compared, ratio, met }]
}

function targetOf(ours: string, peer: string, { name, better }: Line): Target | undefined {
  if (ours === OURS_POSTGRES && peer === BARE) {
    if (name === 'publish-single') return ratioAtLeast(0.9)
    if (name === 'latency-100-p50') return ratioAtMost(2)
  }
  if (peer === 'redis-streams' && name === 'publish-concurrent') return ratioAtLeast(1)
  if (!SQL_PEERS[ours]?.includes(peer) || NOT_JUDGED.includes(name)) return undefined
  if (FAR_AHEAD.includes(name)) return ratioAtLeast(3)
  return better === 'higher' ? ratioAtLeast(1) : ratioAtMost(1)
}

/** Of the rounds in which both could do it: the machine may be faster in one round than in another. */
function medianRatio(ours: Result, peer: Result, line: LineName): number | null {
  const theirs = peer.samples.get(line) ?? []
  const ratios = (ours.samples.get(line) ?? []).flatMap((each, round) => {
    const other = theirs[round]
    return each == null || other == null || other === 0 ? [] : [each / other]
  })
  return ratios.length === 0 ? null : median(ratios)
}
