import { DEFAULT_LIMITS } from '../contracts/limits.ts'
import { readVitals } from '../contracts/organism-codec.ts'
import { splitOrganisms } from '../contracts/organism-list.ts'
import type { Organism } from '../contracts/tick.ts'
import { decodeOrganism } from '../contracts/tick-codec.ts'
import { IndexedTickError } from '../databases/errors.ts'
import type { IndexDatabase } from '../databases/index-database.ts'
import type { OrganismRow } from '../databases/organism-rows.ts'
import { readPacked } from '../databases/packed-ticks.ts'
import { unpack } from '../databases/packing.ts'
import type { IndexedRange, NearestTicks } from '../databases/tick-blobs.ts'
import { refuseUnknown, wholeNumber } from '../options.ts'
import { Turns } from '../turns.ts'
import { evenly } from './evenly.ts'
import { KnownLineages } from './known-lineages.ts'
import { nothingOf } from './nothing-of.ts'
import type { LifePage, LifeQuery, LineagesAt, OrganismFacts, OrganismReader } from './run-index.ts'
import { checkOrder } from './tick-query.ts'

const DEFAULT_LIMIT = 1_000
const LARGEST_LIMIT = 10_000
const DEFAULT_TOP = 7
const LARGEST_TOP = 1_000
/** Ticks of a life in memory at once. */
const TICKS_AT_ONCE = 32
const MAX_BYTES = DEFAULT_LIMITS.maxTickBytes

/** Organisms decoded before yielding to the event loop. */
const DECODED_AT_ONCE = 256
const NO_LIMIT = Number.MAX_SAFE_INTEGER

type LifeMoment = { readonly tick: number; readonly state: Organism }

export class IndexedOrganisms implements OrganismReader {
  readonly #database: IndexDatabase
  readonly #lineages: KnownLineages

  constructor(database: IndexDatabase) {
    this.#database = database
    this.#lineages = new KnownLineages(database)
  }

  async range(): Promise<IndexedRange | null> {
    return await this.#database.organismTicks.range()
  }

  async nearest(tick: number): Promise<NearestTicks> {
    return await this.#database.organismTicks.nearest(wholeNumber('tick', tick, { min: 0 }))
  }

  async at(tick: number): Promise<readonly Organism[] | null> {
    const bytes = await this.#states(tick)
    if (bytes === null) return null
    const organisms: Organism[] = []
    const turns = new Turns()
    const each = splitOrganisms(bytes)
    for (let isDone = false; !isDone; await turns.pass()) {
      isDone = this.#decoded(tick, () => decodeSome(each, organisms))
    }
    return organisms
  }

  async facts(id: number): Promise<OrganismFacts | null> {
    const row = await this.#database.organisms.read(checkedId(id))
    return row && factsOf(row)
  }

  async oneAt(id: number, tick: number): Promise<Organism | undefined | null> {
    checkedId(id)
    const bytes = await this.#states(tick)
    return bytes && this.#decoded(tick, () => findOrganism(bytes, id))
  }

  async lineagesOf(ids: Int32Array): Promise<Int32Array> {
    return await this.#lineages.of(ids)
  }

  async lineages(tick: number, top = DEFAULT_TOP): Promise<LineagesAt | null> {
    const most = wholeNumber('top', top, { min: 1, max: LARGEST_TOP })
    const bytes = await this.#states(tick)
    if (bytes === null) return null
    const alive = await this.#aliveByLineage(tick, bytes)
    const largest = [...alive].sort(([a, one], [b, other]) => other - one || a - b).slice(0, most)
    const rows = await this.#database.organisms.lineages(largest.map(([lineage]) => lineage))
    const known = new Map(rows.map(row => [row.lineage, row]))
    return {
      count: alive.size,
      alive: [...alive.values()].reduce((sum, count) => sum + count, 0),
      lineages: largest.map(([lineage, count]) => {
        const { parent = null, firstTick = tick, lastTick = tick } = known.get(lineage) ?? {}
        return { lineage, parent, alive: count, firstTick, lastTick }
      }),
    }
  }

  async life(id: number, query: LifeQuery = {}): Promise<readonly LifeMoment[]> {
    refuseUnknown(query, ['from', 'to', 'limit'])
    return (await this.lifePage(id, query)).moments
  }

  async lifePage(id: number, query: LifeQuery & { readonly maxBytes?: number } = {}): Promise<LifePage> {
    refuseUnknown(query, ['from', 'to', 'limit', 'maxBytes'])
    const maxBytes = query.maxBytes === undefined ? NO_LIMIT : wholeNumber('maxBytes', query.maxBytes, { min: 1 })
    const limit = checkedLimit(query.limit)
    checkOrder(query)
    const known = await this.#database.organisms.read(checkedId(id))
    if (known === null) return { moments: [], next: null }
    const from = Math.max(known.firstTick, tickOf('from', query.from) ?? 0)
    const to = Math.min(known.lastTick, tickOf('to', query.to) ?? known.lastTick)
    const ticks = await this.#database.organismTicks.following(evenly(from, to, limit))
    const moments: LifeMoment[] = []
    let bytes = 0
    const turns = new Turns()
    for await (const moment of this.#moments(
      id,
      ticks.filter(tick => tick <= to),
    )) {
      await turns.pass()
      bytes += sizeOf(moment.state)
      if (moments.length > 0 && bytes > maxBytes) return { moments, next: moment.tick }
      moments.push(moment)
    }
    return { moments, next: null }
  }

  async lineage(
    id: number,
    limit?: number,
    after = -1,
  ): Promise<{ ancestors: readonly OrganismFacts[]; children: readonly OrganismFacts[] }> {
    const most = checkedLimit(limit)
    const [ancestors, children] = await Promise.all([
      this.#database.organisms.ancestors(checkedId(id), most),
      this.#database.organisms.children(id, { after, limit: most }),
    ])
    return { ancestors: ancestors.map(factsOf), children: children.map(factsOf) }
  }

  async #aliveByLineage(tick: number, bytes: Uint8Array): Promise<Map<number, number>> {
    const alive = new Map<number, number>()
    const turns = new Turns()
    const each = splitOrganisms(bytes)
    for (let isDone = false; !isDone; await turns.pass()) {
      isDone = this.#decoded(tick, () => countSome(each, alive))
    }
    return alive
  }

  async #states(tick: number): Promise<Uint8Array | null> {
    const bytes = await readPacked(this.#database.organismTicks, wholeNumber('tick', tick, { min: 0 }), MAX_BYTES)
    return bytes ?? (await nothingOf(this.#database, tick))
  }

  /** Data that can't be decoded is the index's fault, not the caller's. */
  #decoded<T>(tick: number, decode: () => T): T {
    try {
      return decode()
    } catch (error) {
      throw new IndexedTickError(this.#database.runId, tick, error as Error)
    }
  }

  async *#moments(id: number, ticks: readonly number[]): AsyncGenerator<LifeMoment, void, undefined> {
    for (let at = 0; at < ticks.length; at += TICKS_AT_ONCE) {
      for (const { tick, data } of await this.#database.organismTicks.readMany(ticks.slice(at, at + TICKS_AT_ONCE))) {
        const bytes = unpack(data, MAX_BYTES, `tick ${tick}`)
        const state = this.#decoded(tick, () => findOrganism(bytes, id))
        if (state !== undefined) yield { tick, state }
      }
    }
  }
}

/** Whether there are no more. */
function decodeSome(from: Generator<Uint8Array, void, undefined>, into: Organism[]): boolean {
  for (let count = 0; count < DECODED_AT_ONCE; count++) {
    const { value, done } = from.next()
    if (done === true || value === undefined) return true
    into.push(decodeOrganism(value))
  }
  return false
}

/** Whether there are no more. */
function countSome(from: Generator<Uint8Array, void, undefined>, alive: Map<number, number>): boolean {
  for (let count = 0; count < DECODED_AT_ONCE; count++) {
    const { value, done } = from.next()
    if (done === true || value === undefined) return true
    const { lineage, isDead } = readVitals(value)
    if (!isDead) alive.set(lineage, (alive.get(lineage) ?? 0) + 1)
  }
  return false
}

/** Approximate size as JSON. */
const sizeOf = ({ genome, position, direction }: Organism): number =>
  genome.length * 1.4 + (position.length + direction.length) * 8 + 200

/** Only the requested organism is decoded. */
function findOrganism(bytes: Uint8Array, id: number): Organism | undefined {
  for (const each of splitOrganisms(bytes)) {
    if (readVitals(each).id === id) return decodeOrganism(each)
  }
  return undefined
}

const factsOf = ({ id, parentId, birthTick, birthPosition, lineage, deathTick }: OrganismRow): OrganismFacts => ({
  id,
  parentId,
  birthTick,
  birthPosition,
  lineage,
  deathTick,
})

const checkedId = (id: number): number => wholeNumber('id', id, { min: 0 })

const checkedLimit = (limit = DEFAULT_LIMIT): number => wholeNumber('limit', limit, { min: 1, max: LARGEST_LIMIT })

const tickOf = (name: string, tick: number | undefined): number | undefined =>
  tick === undefined ? undefined : wholeNumber(name, tick, { min: 0 })
