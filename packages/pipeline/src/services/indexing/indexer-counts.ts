const COUNTED = [
  'batchesReceived',
  'batchesIndexed',
  'batchesSkipped',
  'batchesRemoved',
  'batchesFailed',
  'batchesDeadLettered',
  'ticksIndexed',
  'flushes',
  'flushesFailed',
  'staleAcks',
] as const

export type Counted = (typeof COUNTED)[number]

/** Counts of one indexer since it was created. */
export class IndexerCounts {
  readonly #totals = Object.fromEntries(COUNTED.map(name => [name, 0])) as { [name in Counted]: number }

  add(name: Counted, count = 1): void {
    this.#totals[name] += count
  }

  snapshot(): { readonly [name in Counted]: number } {
    return { ...this.#totals }
  }
}
