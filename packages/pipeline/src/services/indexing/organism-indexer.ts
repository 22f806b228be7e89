import { setImmediate as nextTurn } from 'node:timers/promises'
import { readVitals } from '../../contracts/organism-codec.ts'
import { joinOrganisms } from '../../contracts/organism-list.ts'
import { decodeOrganism, type RawTick } from '../../contracts/tick-codec.ts'
import type { OrganismRow } from '../../databases/organism-rows.ts'
import { writePacked } from '../../databases/packed-ticks.ts'
import { type PackingOptions, packingOf } from '../../databases/packing.ts'
import { refuseUnknown } from '../../options.ts'
import { defineIndexer, type IndexerDefinition } from './definition.ts'

/** Organisms processed before yielding to the event loop. */
const SLICE_ORGANISMS = 10_000

const TICKS_REMOVED = 200
const ORGANISMS_LOOKED_AT = 1_000

type Seen = { -readonly [Fact in keyof OrganismRow]: OrganismRow[Fact] }

/**
 * Indexer that stores each organism once, and the state of all organisms as one row per tick.
 *
 * @example
 * const definition = organismIndexer({ compression: 'zstd' })
 */
export function organismIndexer(options: PackingOptions = {}): Required<IndexerDefinition> {
  refuseUnknown(options, ['compression', 'level'])
  const packing = packingOf(options)
  let organismsIndexed = 0
  /** Organisms up to this id were checked. */
  let lookedTo = -1
  return defineIndexer({
    name: 'organism',

    async prepare({ database }, tx) {
      await database.organismTicks.prepare(tx)
      await database.organisms.prepare(tx)
    },

    async flush(ticks, tx, { run: { database } }) {
      await database.organisms.write(await seenIn(ticks), tx)
      await writePacked(database.organismTicks, ticks, ({ organisms }) => joinOrganisms(organisms), packing, tx)
    },

    flushed(ticks) {
      for (const { organismCount } of ticks) organismsIndexed += organismCount
    },

    /** First their states, then, some at a time, the organisms that were last seen then. */
    async remove(ticks, tx, { database }) {
      const removed = await database.organismTicks.remove(ticks, TICKS_REMOVED, tx)
      if (removed > 0) return removed
      const gone = await database.organisms.removeGone(lookedTo, ticks.tickEnd, ORGANISMS_LOOKED_AT, tx)
      lookedTo = gone.nextId ?? -1
      return gone.removed
    },

    metrics: () => ({ organismsIndexed }),
  })
}

/**
 * The first of these ticks that contains an organism determines its birth; all of them, whether it was alive and died.
 */
async function seenIn(ticks: readonly RawTick[]): Promise<OrganismRow[]> {
  const seen = new Map<number, Seen>()
  let looked = 0
  for (const { tick, organisms } of ticks.toSorted((a, b) => a.tick - b.tick)) {
    for (const bytes of organisms) {
      const { id, isDead } = readVitals(bytes)
      const known = seen.get(id)
      if (known === undefined) seen.set(id, firstSeen(bytes, tick))
      else {
        known.lastTick = tick
        if (isDead) known.deathTick ??= tick
      }
    }
    looked += organisms.length
    if (looked < SLICE_ORGANISMS) continue
    looked = 0
    await nextTurn()
  }
  return [...seen.values()]
}

function firstSeen(bytes: Uint8Array, tick: number): Seen {
  const { id, parentId, birthTick, lineage, position, isDead } = decodeOrganism(bytes)
  const deathTick = isDead ? tick : null
  return { id, parentId, birthTick, lineage, birthPosition: position, firstTick: tick, lastTick: tick, deathTick }
}
