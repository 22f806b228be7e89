import type { ServerResponse } from 'node:http'
import { UnsentAnswersError } from '../errors.ts'
import { Line } from './line.ts'
import { MemoryBudget, type Reservation } from './memory-budget.ts'

const MiB = 1024 ** 2
/** Answers from this size on are counted. */
const LARGE = MiB

/**
 * Answers built at the same time. More than one, so that one that waits for the database does not block all the others.
 */
const AT_ONCE = 4

/** How much a claim of several messages may read before it releases what does not fit into the answer. */
const CLAIM_BYTES = 64 * MiB

/** Share of the budget for answers to reads: readers must not keep others from consuming. */
const SHARE_OF_READS = 3 / 4

/** How long a pull waits for memory, whatever its own wait is: most answers are read within milliseconds. */
const ROOM_MS = 2_000

/** A pull that returns messages: how much it wants to claim, and how long it may wait. */
export type Pulling = { readonly messages: number; readonly bytes: number; readonly waitMs: number }

/**
 * Pages of messages are built a few at a time: ten at once took ten times the memory, and blocked everybody else for
 * over a second. The unsent bytes of large answers to slow readers are limited in total, together with what pulls are
 * about to claim: 40 pulls at once took 1.1 GB.
 */
export class LargeAnswers {
  readonly #budget: MemoryBudget
  readonly #reads = new Line(AT_ONCE)
  /** Separate from reads: a claim must not wait for somebody's slow browsing. */
  readonly #pulls = new Line(AT_ONCE)
  readonly #reserved = new WeakMap<ServerResponse, Reservation>()

  constructor(maxUnsent: number) {
    this.#budget = new MemoryBudget(maxUnsent)
  }

  /** For reads. Waits for earlier ones, and yields to others in between. */
  async inTurn<T>(make: () => T | Promise<T>): Promise<T> {
    return await this.#reads.pass(make)
  }

  /** Encodes what was claimed. */
  async inTurnOfPulls<T>(make: () => T | Promise<T>): Promise<T> {
    return await this.#pulls.pass(make)
  }

  /**
   * Called before messages are claimed for an answer: a refusal after the claim would cost them an attempt. Throws
   * after a while if there is no memory for them.
   */
  async reserve(raw: ServerResponse, pulling: Pulling, signal: AbortSignal): Promise<Reservation> {
    const wanted = pulling.messages === 1 ? pulling.bytes : Math.max(CLAIM_BYTES, pulling.bytes)
    const reserved = await this.#budget.reserve(wanted, Math.max(ROOM_MS, pulling.waitMs), signal)
    this.#reserved.set(raw, reserved)
    return reserved
  }

  /** Memory of an open stream, until it is disposed. Throws if there is not enough. */
  hold(bytes: number): Disposable {
    this.#requireRoom(bytes)
    const held = this.#budget.hold(bytes)
    return { [Symbol.dispose]: () => held.release() }
  }

  /**
   * Counts the bytes until the reader has them, or is gone. Throws if too much is unsent already, except for what was
   * reserved.
   */
  send(payload: unknown, raw: ServerResponse): void {
    const reserved = this.#reserved.get(raw)
    if (!(payload instanceof Uint8Array) || payload.length < LARGE) {
      reserved?.release()
      return
    }
    const { length } = payload
    if (reserved === undefined) this.#requireRoom(length)
    const held = reserved ?? this.#budget.hold(0)
    held.keep(length)
    raw.once('close', () => held.release())
  }
  #requireRoom(bytes: number): void {
    const { most, left } = this.#budget
    if (bytes > left - most * (1 - SHARE_OF_READS)) throw new UnsentAnswersError(most)
  }
}
