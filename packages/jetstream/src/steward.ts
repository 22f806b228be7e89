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
import { randomBytes } from 'node:crypto'
import { errors, type Msg, type Subscription } from '@nats-io/transport-node'
import { ClosedError } from 'tidemark'
import { seqOf } from './entry.ts'
import { apply, lettersOf, type Op, type Results } from './group/apply.ts'
import { Draft } from './group/change.ts'
import type { ClaimOp } from './group/claim.ts'
import type { GroupDocument } from './group/document.ts'
import { Missing } from './group/facts.ts'
import { idsOf } from './group/segments.ts'
import { GroupGone, type GroupRef, LoadedFacts, PageMissing } from './loaded-facts.ts'
import type { PackedEntry } from './log-reader.ts'
import { assertLog } from './missing-stream.ts'
import { type Namespace, parsed, type Revision, written } from './namespace.ts'
import { MOST_WRITES } from './nats/client.ts'
import { pause } from './nats/connection.ts'
import { BatchDropped, Conflict, NoAnswer, StreamGone, unreachable } from './nats/errors.ts'
import { type TopicKey, topicKey } from './nats/names.ts'
import type { TopicDocument } from './topic-document.ts'

const MOST_OPS = 64
/** A claim of the steward's own process waits this long for those of competitors that were woken by the same message. */
const TURN_MS = 4
/** Others compete if one of them has claimed this lately. */
const COMPETE_MS = 5_000
const ASK_MS = 2_000
/** Entries of a claim of another process up to this size travel with the answer, and need not be read there. */
const MOST_SENT = 64 * 1024
const ASKS_UNHEARD = 4
/** What a process that was not heard of is no longer asked for. */
const DISTRUST_MS = 2_000
const GIVE_UP_MS = 30_000
const COMMITS_NAMED = 32
/** A leader that was replaced may answer for a while. */
const MOST_OLD_READS = 8

type Waiting = {
  readonly op: Op
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

type Known = Revision<GroupDocument> & {
  /** When it was read or written, by the clock of this process. */
  readonly since: number
}

type Queue = {
  readonly ref: GroupRef
  readonly key: TopicKey
  readonly waiting: Waiting[]
  isRunning: boolean
  /** The document as this process last read or wrote it. */
  state: Known | null
  /** The last document that this process has read or written, and when it did so first. */
  seen: { readonly seq: number; readonly since: number }
  /** undefined: unknown. */
  steward: string | null | undefined
  subscription: Subscription | null
  /** When each consumer of each process last claimed here. */
  readonly claimedAt: Map<string, number>
  /** Number of the last claim that each consumer of each process was served. */
  readonly served: Map<string, number>
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
        await assertLog(this.#ns, ref)
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
      queue.steward ??= (await this.#read(queue)).value.steward
      const { steward } = queue
      try {
        if (this.#isMine(steward)) {
          // Else the one that wakes first would get every message of a live stream.
          if (noteClaim(queue, op)) await pause(TURN_MS)
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
        const { seq } = await this.#read(queue)
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
    return await this.#read(this.#queue(ref))
  }

  /** Hands every group over. */
  async close(): Promise<void> {
    this.#isClosing = true
    const own = [...this.#queues.values()].filter(({ subscription }) => subscription !== null)
    await Promise.allSettled(own.map(queue => this.#locally(queue, { kind: 'leave' })))
    for (const queue of own) this.#leave(queue)
  }

  #queue(ref: GroupRef): Queue {
    const key = topicKey(ref.topic)
    const name = `${key}/${ref.id}`
    let queue = this.#queues.get(name)
    if (queue === undefined) {
      queue = {
        ref,
        key,
        waiting: [],
        isRunning: false,
        state: null,
        seen: { seq: 0, since: 0 },
        steward: undefined,
        subscription: null,
        claimedAt: new Map(),
        served: new Map(),
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

  async #ask(queue: Queue, steward: string, op: Op): Promise<unknown> {
    const subject = this.#ns.names.steward(queue.key, queue.ref.id, steward)
    const answer = (await this.#ns.client.connection.ask(subject, op, ASK_MS)) as Answer
    if ('ok' in answer) {
      if (answer.entries !== undefined) this.#ns.reader(queue.ref.topic).unpack(answer.entries)
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
      const batch = inTurn(queue, queue.waiting.splice(0, MOST_OPS))
      try {
        const results = await this.#commit(
          queue,
          batch.map(({ op }) => op),
        )
        for (const [place, { op, resolve }] of batch.entries()) {
          if (place >= results.length) break
          noteServed(queue, op, results[place])
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

  async #commit(queue: Queue, ops: readonly Op[]): Promise<unknown[]> {
    const { client, names, clock, me } = this.#ns
    const until = performance.now() + GIVE_UP_MS
    const own = new Set<string>()
    const results = new Map<string, unknown[]>()
    for (let attempt = 0; ; attempt++) {
      if (performance.now() > until) throw unreachable(this.#ns.location, new Error('the change could not be stored'))
      const isKnown = queue.state !== null
      const base = queue.state ?? (await this.#read(queue))
      // A commit of unknown outcome was stored after all.
      const stored = base.value.commits.find(commit => own.has(commit))
      if (stored !== undefined) return results.get(stored) ?? []
      if (!this.#isMine(base.value.steward)) {
        this.#leave(queue)
        throw new Moved()
      }
      // A leader whose clock was ahead has left a time in the future: from there it goes on at the usual pace.
      const now = Math.max(clock.now(), Math.round(base.value.at + performance.now() - base.since))
      const facts = new LoadedFacts(this.#ns, queue, { now, revision: base.seq })
      const applied = await this.#apply(base.value, ops, facts, queue.key).catch(error => {
        // Another process has dropped the page, and the document that names it is an old one.
        if (!(error instanceof PageMissing) || (!isKnown && attempt > MOST_OLD_READS)) throw error
        return null
      })
      if (applied === null) {
        queue.state = null
        await pause(attempt * 10)
        continue
      }
      const { draft } = applied
      if (!draft.isChanged) {
        // That there is nothing to do is not believed of a document that another process may have replaced.
        if (!isKnown) return applied.results
        queue.state = null
        continue
      }
      const isLeaving = ops.some(({ kind }) => kind === 'leave')
      if (!isLeaving && draft.document.steward !== me && !this.#isClosing) await this.#serve(queue)
      const commit = randomBytes(4).toString('hex')
      const document: GroupDocument = {
        ...draft.document,
        steward: isLeaving || this.#isClosing ? null : me,
        commits: [...draft.document.commits.slice(1 - COMMITS_NAMED), commit],
        at: facts.now,
      }
      own.add(commit)
      results.set(commit, applied.results)
      const writes = draft.writes()
      if (draft.changedTopic !== undefined) {
        writes.push(written(names.topic(queue.key), draft.changedTopic, facts.topicSeq))
      }
      if (writes.length >= MOST_WRITES) throw new Error('a change is too large for one batch')
      try {
        const { seq } = await client.store([
          ...writes,
          written(names.group(queue.key, queue.ref.id), document, base.seq),
        ])
        queue.seen = { seq, since: performance.now() }
        queue.state = { value: document, at: facts.now, ...queue.seen }
        queue.steward = document.steward ?? undefined
        return applied.results
      } catch (error) {
        queue.state = null
        if (error instanceof Conflict || error instanceof BatchDropped) {
          if (attempt > 2 || error instanceof BatchDropped) await pause(Math.random() * 2 ** Math.min(attempt, 8))
        } else if (error instanceof NoAnswer) await pause(20)
        else throw error
      }
    }
  }

  /** Applies as many of the changes as one commit has room for, again whenever something had to be fetched. */
  async #apply(
    document: GroupDocument,
    ops: readonly Op[],
    facts: LoadedFacts,
    key: TopicKey,
  ): Promise<{ readonly draft: Draft; readonly results: unknown[] }> {
    for (;;) {
      const draft = new Draft(structuredClone(document), facts, this.#ns.names, key)
      const results: unknown[] = []
      try {
        for (const op of ops) {
          if (results.length > 0 && !draft.hasRoomFor(lettersOf(op))) break
          results.push(apply(draft, op))
        }
        return { draft, results }
      } catch (error) {
        if (!(error instanceof Missing)) throw error
        await error.fetch()
      }
    }
  }

  async #read(queue: Queue): Promise<Known> {
    const { client, names } = this.#ns
    const subject = names.group(queue.key, queue.ref.id)
    const stored = await client.last(names.groupStream(queue.key), subject).catch(async error => {
      if (!(error instanceof StreamGone)) throw error
      await this.#ns.assertThere()
      return null
    })
    const found = parsed<GroupDocument>(stored)
    if (found === null) {
      await this.#assertGone(queue)
      return await this.#read(queue)
    }
    // Read again, the same document is not younger.
    if (queue.seen.seq !== found.seq) queue.seen = { seq: found.seq, since: performance.now() }
    queue.state = { ...found, since: queue.seen.since }
    return queue.state
  }

  /**
   * Throws if the group is gone. A leader that was replaced may not know a group that its successor has created: only
   * a compare-and-set of the topic shows that what the topic says is the present.
   */
  async #assertGone({ ref, key }: Queue): Promise<void> {
    const { client, names } = this.#ns
    for (;;) {
      const topic = parsed<TopicDocument>(await client.last(names.groupStream(key), names.topic(key)).catch(isGone))
      if (topic === null) throw new GroupGone()
      try {
        await client.store([written(names.topic(key), topic.value, topic.seq)])
      } catch (error) {
        if (!(error instanceof Conflict || error instanceof NoAnswer)) throw error
        await pause(Math.random() * 20)
        continue
      }
      if (topic.value.groups[ref.id] === undefined) throw new GroupGone()
      return
    }
  }

  /** Listens before it writes its name into the document. */
  async #serve(queue: Queue): Promise<void> {
    if (queue.subscription !== null) return
    const { client, names, me } = this.#ns
    queue.subscription = client.connection.listen(names.steward(queue.key, queue.ref.id, me), message => {
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
        noteClaim(queue, op)
        const ok = (await this.#locally(queue, op)) ?? null
        const entries = op.kind === 'claim' ? this.#entriesOf(queue, ok as Results['claim']) : undefined
        answer = { ok, ...(entries && { entries }) }
      }
    } catch (error) {
      queue.state = null
      answer = error instanceof GroupGone ? { gone: true } : error instanceof Moved ? { moved: true } : { failed: true }
    }
    if (!this.#ns.client.isClosed) message.respond(JSON.stringify(answer))
  }

  /** The steward has just divided them. */
  #entriesOf({ ref }: Queue, { lease }: Results['claim']): PackedEntry[] | undefined {
    if (lease?.segments === undefined) return undefined
    return this.#ns.reader(ref.topic).packed(new Set(idsOf(lease.segments).map(seqOf)), MOST_SENT)
  }

  #leave(queue: Queue): void {
    queue.subscription?.unsubscribe()
    queue.subscription = null
    queue.state = null
    queue.steward = undefined
  }
}

/** Whether other consumers compete with this one. */
function noteClaim({ claimedAt }: Queue, op: Op): boolean {
  if (op.kind !== 'claim') return false
  const own = claimerOf(op)
  const now = performance.now()
  claimedAt.set(own, now)
  for (const [claimer, at] of claimedAt) if (now - at > COMPETE_MS) claimedAt.delete(claimer)
  return claimedAt.size > 1
}

/** Competing claims: the consumer that was served last comes last. */
function inTurn({ served }: Queue, batch: readonly Waiting[]): Waiting[] {
  const turnOf = ({ op }: Waiting): number => (op.kind === 'claim' ? (served.get(claimerOf(op)) ?? 0) : -1)
  return batch.toSorted((a, b) => turnOf(a) - turnOf(b))
}

function noteServed({ served }: Queue, op: Op, result: unknown): void {
  if (op.kind !== 'claim' || (result as Results['claim']).lease === null) return
  served.set(claimerOf(op), Math.max(0, ...served.values()) + 1)
}

const claimerOf = ({ process, consumer }: ClaimOp): string => `${process}/${consumer}`

type Answer =
  | { readonly ok: unknown; readonly entries?: readonly PackedEntry[] }
  | { readonly moved?: true; readonly gone?: true; readonly failed?: true }

class Moved extends Error {}

const isGone = (error: unknown): null => {
  if (error instanceof StreamGone) return null
  throw error
}

const isUnheard = (error: unknown): boolean =>
  error instanceof errors.TimeoutError ||
  error instanceof errors.NoRespondersError ||
  (error instanceof errors.RequestError && error.isNoResponders())
