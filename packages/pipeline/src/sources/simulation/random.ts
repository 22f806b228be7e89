const STATE_WORDS = 4

/**
 * xoshiro128**: 32-bit integer arithmetic only, so every machine draws the same numbers. Its whole state is four words
 * that can be saved; Math.random can be neither seeded nor saved.
 */
export class Random {
  readonly state = new Int32Array(STATE_WORDS)

  constructor(seed: string) {
    let hash = hashOf(seed)
    for (let word = 0; word < STATE_WORDS; word++) {
      hash = (hash + 0x9e3779b9) | 0
      this.state[word] = mix(hash)
    }
  }

  /** 32 random bits as a signed integer. */
  next(): number {
    const state = this.state
    const second = state[1] as number
    const scrambled = Math.imul(second, 5)
    const result = Math.imul((scrambled << 7) | (scrambled >>> 25), 9)
    const third = (state[2] as number) ^ (state[0] as number)
    const fourth = (state[3] as number) ^ second
    state[1] = second ^ third
    state[0] = (state[0] as number) ^ fourth
    state[2] = third ^ (second << 9)
    state[3] = (fourth << 11) | (fourth >>> 21)
    return result
  }

  /** An integer from 0 to bound - 1. Scaling 32 bits favours no cell of the largest world by more than 0.4 %. */
  below(bound: number): number {
    return Math.floor(((this.next() >>> 0) / 2 ** 32) * bound)
  }

  /** True with a chance of `chance` in 65 536. */
  happens(chance: number): boolean {
    return this.next() >>> 16 < chance
  }
}

/** FNV-1a over UTF-8: seeds are texts, and every character counts. */
function hashOf(seed: string): number {
  let hash = 0x811c9dc5 | 0
  for (const byte of new TextEncoder().encode(seed)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash
}

/**
 * The finaliser of splitmix32: seeds that differ in one bit give unrelated states. It is a bijection, so four different
 * words are never all zeros.
 */
function mix(value: number): number {
  let mixed = value
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return mixed ^ (mixed >>> 15)
}
