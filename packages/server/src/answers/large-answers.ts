import type { ServerResponse } from 'node:http'
import { UnsentAnswersError } from '../errors.ts'
import { Line } from './line.ts'
import { MemoryBudget, type Reservation } from './memory-budget.ts'

const MiB = 1024 ** 2
/** An answer from this size on counts. */
const LARGE = MiB

/** Made at the same time. More than one, so that one that waits for the database does not keep all the others waiting. */
const AT_ONCE = 4

/** What a claim of several messages may read before it gives back what does not fit into the answer. */
const CLAIM_BYTES = 64 * MiB

/** Share of the budget for answers to reads: readers must not keep others from consuming. */
const SHARE_OF_READS = 3 / 4

/** How long a pull waits for memory, whatever its own wait is: most answers are taken within milliseconds. */
const ROOM_MS = 2_000

/** A pull that answers with messages: what it wants to claim, and how long it has for that. */
export type Pulling = { readonly messages: number; readonly bytes: number; readonly waitMs: number }

/**
 * Pages of messages are made a few at a time: ten at once took ten times the memory, and held everybody else up for over a
 * second. And what slow readers have not taken yet of large answers is bounded for all of them together, with what pulls are about
 * to claim: 40 pulls at once took 1.1 GB.
 */
export class LargeAnswers {
  readonly #budget: MemoryBudget
  readonly #reads = new Line(AT_ONCE)
  /** Apart from reads: what is claimed must not wait for somebody's slow browsing. */
  readonly #pulls = new Line(AT_ONCE)
  readonly #reserved = new WeakMap<ServerResponse, Reservation>()

  constructor(maxUnsent: number) {
    this.#budget = new MemoryBudget(maxUnsent)
  }

  /** For reads. Waits for those that were asked for before, and lets others have a turn in between. */
  async inTurn<T>(make: () => T | Promise<T>): Promise<T> {
    return await this.#reads.pass(make)
  }

  /** Encodes what was claimed. */
  async inTurnOfPulls<T>(make: () => T | Promise<T>): Promise<T> {
    return await this.#pulls.pass(make)
  }

  /**
   * Before messages are claimed for an answer: a refusal after the claim would cost them an attempt. Throws where there is no memory
   * for them, after a while.
   */
  async reserve(raw: ServerResponse, pulling: Pulling, signal: AbortSignal): Promise<Reservation> {
    const wanted = pulling.messages === 1 ? pulling.bytes : Math.max(CLAIM_BYTES, pulling.bytes)
    const reserved = await this.#budget.reserve(wanted, Math.max(ROOM_MS, pulling.waitMs), signal)
    this.#reserved.set(raw, reserved)
    return reserved
  }

  /** Counts until the reader has it, or is gone. Throws where too much waits already, but not for what was reserved. */
  send(payload: unknown, raw: ServerResponse): void {
    const reserved = this.#reserved.get(raw)
    if (!(payload instanceof Uint8Array) || payload.length < LARGE) {
      reserved?.release()
      return
    }
    const { length } = payload
    const { most, left } = this.#budget
    if (reserved === undefined && length > left - most * (1 - SHARE_OF_READS)) throw new UnsentAnswersError(most)
    const held = reserved ?? this.#budget.hold(0)
    held.keep(length)
    raw.once('close', () => held.release())
  }
}
