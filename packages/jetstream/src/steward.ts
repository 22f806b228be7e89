/**
 * Changes of a group, combined by one process.
 *
 * Eight processes that compare and set one document spend their time on conflicts. So one of them, the steward, applies
 * the changes of all: the others send them to it. Who that is stands in the document and is only a hint: the document's
 * revision decides what is stored, whoever writes it.
 *
 *     change(op) ──no steward, or this process──▶ queue ──up to 64──▶ apply to a copy ──▶ [pages, letters, document @ revision]
 *         └──another process──▶ request ──nobody there, or silent while the document stands still──▶ take over
 */
import { errors, type Msg, type Subscription } from '@nats-io/transport-node'
import { ClosedError } from 'tidemark'
import { ClaimTurns } from './claim-turns.ts'
import { commit, type Stewardship } from './commits.ts'
import { assertWholeOf } from './damaged-topic.ts'
import { seqOf } from './entry.ts'
import type { Op, Results } from './group/apply.ts'
import { type GroupDocument, nextSeq } from './group/document.ts'
import { idsOf } from './group/segments.ts'
import { KnownGroup } from './known-group.ts'
import { GroupGone, type GroupRef } from './loaded-facts.ts'
import type { PackedEntry } from './log-reader.ts'
import type { Namespace, Revision } from './namespace.ts'
import { pause } from './nats/connection.ts'
import { unreachable } from './nats/errors.ts'
import { topicKey } from './nats/names.ts'

const MOST_OPS = 64
/** While a group works through a backlog, what so many of its claims will take is read before they come. */
const AHEAD = 4
/** A claim of the steward's own process waits this long for those of competitors that were woken by the same message. */
const TURN_MS = 4
const ASK_MS = 2_000
/** Entries of a claim of another process up to this size travel with the answer, and need not be read there. */
const MOST_SENT = 64 * 1024
const ASKS_UNHEARD = 4
/** What a process that was not heard of is no longer asked for. */
const DISTRUST_MS = 2_000
const GIVE_UP_MS = 30_000

type Waiting = {
  readonly op: Op
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

type Queue = {
  readonly group: KnownGroup
  readonly turns: ClaimTurns
  readonly waiting: Waiting[]
  isRunning: boolean
  /** undefined: unknown. */
  steward: string | null | undefined
  subscription: Subscription | null
}

export class Steward {
  readonly #ns: Namespace
  readonly #queues = new Map<string, Queue>()
  readonly #distrusted = new Set<string>()
  #isClosing = false

  constructor(ns: Namespace) {
    this.#ns = ns
  }

  async change<K extends Op['kind']>(ref: GroupRef, op: Extract<Op, { kind: K }>): Promise<Results[K]> {
    this.#ns.guard.assertThere()
    try {
      return await this.#change(ref, op)
    } catch (error) {
      // Perhaps the whole namespace is.
      if (error instanceof GroupGone) {
        await this.#ns.assertThere()
        await assertWholeOf(this.#ns, ref)
      }
      throw error
    }
  }

  async #change<K extends Op['kind']>(ref: GroupRef, op: Extract<Op, { kind: K }>): Promise<Results[K]> {
    const queue = this.#queue(ref)
    const until = performance.now() + GIVE_UP_MS
    let unheard = 0
    let seen = -1
    for (;;) {
      if (this.#ns.client.isClosed) throw new ClosedError('Tidemark')
      if (performance.now() > until) throw unreachable(this.#ns.location, new Error('no steward answered in time'))
      queue.steward ??= (await queue.group.read()).value.steward
      const { steward } = queue
      try {
        if (this.#isMine(steward)) {
          // Else the one that wakes first would get every message of a live stream.
          if (queue.turns.note(op)) await pause(TURN_MS)
          return (await this.#locally(queue, op)) as Results[K]
        }
        return (await this.#ask(queue, steward ?? '', op)) as Results[K]
      } catch (error) {
        if (error instanceof Moved) {
          queue.steward = undefined
          await pause(Math.random() * 10)
          continue
        }
        if (!isUnheard(error)) throw error
        queue.steward = undefined
        const isThere = error instanceof errors.TimeoutError
        const { seq } = await queue.group.read()
        // It is slow, but it works.
        if (isThere && seq !== seen) {
          seen = seq
          continue
        }
        if (!isThere && ++unheard < ASKS_UNHEARD) {
          await pause(30 + Math.random() * 100)
          continue
        }
        unheard = 0
        this.#distrust(steward ?? '')
      }
    }
  }

  /** The document as the leader has it now. */
  async read(ref: GroupRef): Promise<Revision<GroupDocument>> {
    return await this.#queue(ref).group.read()
  }

  /** Hands every group over. */
  async close(): Promise<void> {
    this.#isClosing = true
    const own = [...this.#queues.values()].filter(({ subscription }) => subscription !== null)
    await Promise.allSettled(own.map(queue => this.#locally(queue, { kind: 'leave' })))
    for (const queue of own) this.#leave(queue)
  }

  #queue(ref: GroupRef): Queue {
    const name = `${topicKey(ref.topic)}/${ref.id}`
    let queue = this.#queues.get(name)
    if (queue === undefined) {
      queue = {
        group: new KnownGroup(this.#ns, ref),
        turns: new ClaimTurns(),
        waiting: [],
        isRunning: false,
        steward: undefined,
        subscription: null,
      }
      this.#queues.set(name, queue)
    }
    return queue
  }

  #isMine(steward: string | null | undefined): boolean {
    return steward == null || steward === this.#ns.me || this.#distrusted.has(steward)
  }

  #distrust(process: string): void {
    this.#distrusted.add(process)
    setTimeout(() => this.#distrusted.delete(process), DISTRUST_MS).unref()
  }

  async #ask({ group: { key, ref } }: Queue, steward: string, op: Op): Promise<unknown> {
    const subject = this.#ns.names.steward(key, ref.id, steward)
    const answer = (await this.#ns.client.connection.ask(subject, op, ASK_MS)) as Answer
    if ('ok' in answer) {
      if (answer.entries !== undefined) this.#ns.reader(ref.topic).unpack(answer.entries)
      return answer.ok
    }
    if (answer.gone) throw new GroupGone()
    // What fails there is tried here: its error is the caller's.
    if (answer.failed) this.#distrust(steward)
    throw new Moved()
  }

  #locally(queue: Queue, op: Op): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    queue.waiting.push({ op, resolve, reject })
    if (!queue.isRunning) {
      queue.isRunning = true
      void this.#run(queue)
    }
    return promise
  }

  async #run(queue: Queue): Promise<void> {
    // What is asked for in the same turn shares a commit.
    await new Promise(resolve => setImmediate(resolve))
    while (queue.waiting.length > 0) {
      const batch = queue.turns.inTurn(queue.waiting.splice(0, MOST_OPS))
      try {
        const ops = batch.map(({ op }) => op)
        const results = await commit(this.#ns, queue.group, ops, this.#stewardship(queue))
        queue.steward = queue.group.known?.value.steward ?? undefined
        this.#readAhead(queue, ops)
        for (const [place, { op, resolve }] of batch.entries()) {
          if (place >= results.length) break
          queue.turns.noteServed(op, results[place])
          resolve(results[place])
        }
        // There was no room for the others.
        queue.waiting.unshift(...batch.slice(results.length))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queue.isRunning = false
  }

  #readAhead({ group: { known, ref } }: Queue, ops: readonly Op[]): void {
    const limits = ops.map(op => (op.kind === 'claim' ? op.limit : 0))
    const messages = AHEAD * limits.reduce((sum, limit) => sum + limit, 0)
    if (known !== null && messages > 0) this.#ns.reader(ref.topic).readAhead(nextSeq(known.value.cursor), messages)
  }

  #stewardship(queue: Queue): Stewardship {
    return {
      assertMine: steward => {
        if (this.#isMine(steward)) return
        this.#leave(queue)
        throw new Moved()
      },
      prepare: async isLeaving => {
        if (isLeaving || this.#isClosing) return null
        await this.#serve(queue)
        return this.#ns.me
      },
    }
  }

  /** Listens before it writes its name into the document. */
  async #serve(queue: Queue): Promise<void> {
    if (queue.subscription !== null) return
    const { client, names, me } = this.#ns
    const { key, ref } = queue.group
    queue.subscription = client.connection.listen(names.steward(key, ref.id, me), message => {
      void this.#answer(queue, message)
    })
    await client.connection.flush()
  }

  async #answer(queue: Queue, message: Msg): Promise<void> {
    let answer: Answer
    try {
      if (this.#isClosing || queue.subscription === null) answer = { moved: true }
      else {
        const op = JSON.parse(message.string()) as Op
        queue.turns.note(op)
        const ok = (await this.#locally(queue, op)) ?? null
        const entries = op.kind === 'claim' ? this.#entriesOf(queue, ok as Results['claim']) : undefined
        answer = { ok, ...(entries && { entries }) }
      }
    } catch (error) {
      queue.group.known = null
      answer = error instanceof GroupGone ? { gone: true } : error instanceof Moved ? { moved: true } : { failed: true }
    }
    if (!this.#ns.client.isClosed) message.respond(JSON.stringify(answer))
  }

  /** The steward has just divided them. */
  #entriesOf({ group: { ref } }: Queue, { lease }: Results['claim']): PackedEntry[] | undefined {
    if (lease?.segments === undefined) return undefined
    return this.#ns.reader(ref.topic).packed(new Set(idsOf(lease.segments).map(seqOf)), MOST_SENT)
  }

  #leave(queue: Queue): void {
    queue.subscription?.unsubscribe()
    queue.subscription = null
    queue.group.known = null
    queue.steward = undefined
  }
}

type Answer =
  | { readonly ok: unknown; readonly entries?: readonly PackedEntry[] }
  | { readonly moved?: true; readonly gone?: true; readonly failed?: true }

class Moved extends Error {}

const isUnheard = (error: unknown): boolean =>
  error instanceof errors.TimeoutError ||
  error instanceof errors.NoRespondersError ||
  (error instanceof errors.RequestError && error.isNoResponders())
