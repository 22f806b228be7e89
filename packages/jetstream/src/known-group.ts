import { DatabaseError } from 'tidemark'
import type { GroupDocument } from './group/document.ts'
import { GroupGone, type GroupRef } from './loaded-facts.ts'
import { type Namespace, parsed, type Revision, written } from './namespace.ts'
import { pause } from './nats/connection.ts'
import { Conflict, NoAnswer, StreamGone } from './nats/errors.ts'
import { type TopicKey, topicKey } from './nats/names.ts'
import type { TopicDocument } from './topic-document.ts'

/** A document that the topic names is there, or comes with the next leader. */
const MOST_MISSES = 8
const MISS_MS = 200

export type Known = Revision<GroupDocument> & {
  /** When it was read or written, by the clock of this process. */
  readonly since: number
}

/** The document of a group, as far as this process knows it. */
export class KnownGroup {
  readonly ref: GroupRef
  readonly key: TopicKey
  /** As this process last read or wrote it; null: it has to be read. */
  known: Known | null = null
  readonly #ns: Namespace
  /** The last document that this process has read or written, and when it did so first. */
  #seen = { seq: 0, since: 0 }

  constructor(ns: Namespace, ref: GroupRef) {
    this.#ns = ns
    this.ref = ref
    this.key = topicKey(ref.topic)
  }

  /** This process has replaced the document. */
  wrote(value: GroupDocument, seq: number): void {
    this.#seen = { seq, since: performance.now() }
    this.known = { value, at: value.at, ...this.#seen }
  }

  /** As the leader has it now. */
  async read(misses = 0): Promise<Known> {
    const { client, names } = this.#ns
    const subject = names.group(this.key, this.ref.id)
    const stored = await client.last(names.groupStream(this.key), subject).catch(async error => {
      if (!(error instanceof StreamGone)) throw error
      await this.#ns.assertThere()
      return null
    })
    const found = parsed<GroupDocument>(stored)
    if (found === null) {
      const { name, groups } = await this.#topicOfGone()
      if (misses === MOST_MISSES) throw lost(this.#ns.location, name, groups[this.ref.id] ?? '')
      await pause(MISS_MS)
      return await this.read(misses + 1)
    }
    // Read again, the same document is not younger.
    if (this.#seen.seq !== found.seq) this.#seen = { seq: found.seq, since: performance.now() }
    this.known = { ...found, since: this.#seen.since }
    return this.known
  }

  /**
   * The topic, if it has the group. A leader that was replaced may not know a group that its successor has created: only
   * a compare-and-set of the topic shows that what the topic says is the present.
   */
  async #topicOfGone(): Promise<TopicDocument> {
    const { key, ref } = this
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
      return topic.value
    }
  }
}

const lost = (where: string, topic: string, group: string): DatabaseError =>
  new DatabaseError(
    `The document of ${group === '' ? 'the group' : `group '${group}'`} of topic '${topic}' does not exist at ${where}: somebody has purged its stream. ` +
      `Restore the stream from a backup (nats stream restore), or delete the topic with deleteTopic('${topic}')`,
  )

const isGone = (error: unknown): null => {
  if (error instanceof StreamGone) return null
  throw error
}
