import assert from 'node:assert/strict'

type Fate = 'open' | 'acked' | 'dead'
type Entry = { fate: Fate; version: number }
type Group = { readonly first: number; readonly entries: Map<number, Entry> }

/**
 * The invariants seen from outside: it knows what was published, delivered and settled, and nothing about how a store
 * works. It would find a mistake that the model shares with the stores.
 */
export class Ledger {
  readonly #maxAttempts: number
  readonly #groups = new Map<string, Group>()
  readonly #watermarks = new Map<string, bigint>()
  #published = 0

  constructor(maxAttempts: number) {
    this.#maxAttempts = maxAttempts
  }

  published(n: number): void {
    this.#published = Math.max(this.#published, n + 1)
  }

  subscribed(group: string, first: number): void {
    if (!this.#groups.has(group)) this.#groups.set(group, { first, entries: new Map() })
  }

  delivered(group: string, n: number, version: number, attempts: number): void {
    const { first, entries } = this.#group(group)
    const where = `${group}: message ${n}, version ${version},`
    assert.ok(n < this.#published && n >= first, `${where} is not for this group`)
    const before = entries.get(n)
    assert.equal(before?.fate ?? 'open', 'open', `${where} was delivered after its end`)
    assert.ok(version > (before?.version ?? 0), `${where} was delivered after version ${before?.version}`)
    assert.ok(attempts <= this.#maxAttempts, `${where} was tried for the ${attempts}th time`)
    entries.set(n, { fate: 'open', version })
  }

  /** A settlement that was accepted: at most one version of a message can have one. */
  accepted(group: string, n: number, version: number, fate: Fate): void {
    const entry = this.#group(group).entries.get(n)
    assert.deepEqual(entry, { fate: 'open', version }, `${group}: a settlement of message ${n}, version ${version}`)
    entry.fate = fate
  }

  /** The dead letters that a store reports from time to time: they only grow. */
  dead(group: string, numbers: readonly number[]): void {
    assert.equal(new Set(numbers).size, numbers.length, `${group}: a message died twice: ${numbers}`)
    const { entries } = this.#group(group)
    for (const n of numbers) {
      const entry = entries.get(n)
      assert.ok(
        entry && entry.fate !== 'acked',
        `${group}: message ${n} died, and was ${entry?.fate ?? 'never delivered'}`,
      )
      entry.fate = 'dead'
    }
  }

  watermark(group: string, watermark: bigint): void {
    const before = this.#watermarks.get(group) ?? watermark
    assert.ok(watermark >= before, `${group}: the watermark went back from ${before} to ${watermark}`)
    this.#watermarks.set(group, watermark)
  }

  /** After draining: everything published for a group has reached an end state there. */
  close(): void {
    for (const [name, { first, entries }] of this.#groups) {
      for (let n = first; n < this.#published; n++) {
        assert.notEqual(entries.get(n)?.fate ?? 'open', 'open', `${name}: message ${n} has come to no end`)
      }
    }
  }

  #group(name: string): Group {
    const group = this.#groups.get(name)
    assert.ok(group, `${name} is not subscribed`)
    return group
  }
}
