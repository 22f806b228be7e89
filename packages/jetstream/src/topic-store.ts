import { NamespaceGoneError, TopicNotFoundError } from 'tidemark'
import { mergeTopicConfig, type TopicConfig, type TopicRecord } from 'tidemark/store'
import { assertWhole, type TopicName } from './damaged-topic.ts'
import type { GroupDocument } from './group/document.ts'
import { type Namespace, type NamespaceDocument, parsed, type Revision, written } from './namespace.ts'
import { pause } from './nats/connection.ts'
import { Conflict, NoAnswer, StreamGone } from './nats/errors.ts'
import type { Write } from './nats/messages.ts'
import { topicKey } from './nats/names.ts'
import { random52 } from './random.ts'
import { restoreSettings, settingsOfTopic } from './stream-settings.ts'
import type { TopicDocument } from './topic-document.ts'

type TopicRef = Pick<TopicRecord, 'id' | 'uid' | 'name'>

/** A topic to store, or nothing to do. */
type Decided<T> =
  | { readonly topic: TopicDocument; readonly writes?: readonly Write[]; readonly result: T }
  | { readonly result: T }

/** How long a topic that was read may be used where it only decides when something is noticed. */
const FRESH_MS = 1_000
const EXAMINE_EVERY_MS = 60_000

/** The documents of topics. */
export class TopicStore {
  readonly #ns: Namespace
  readonly #known = new Map<number, { readonly topic: Revision<TopicDocument>; readonly readAt: number }>()

  readonly #examined = new Map<string, number>()

  constructor(ns: Namespace) {
    this.#ns = ns
  }

  async find(name: string): Promise<Revision<TopicDocument> | undefined> {
    const found = await this.#name(name)
    if (found === null || found.value.deleting) return undefined
    await this.examine(found.value)
    const topic = await this.#read(found.value)
    if (topic === undefined) await assertWhole(this.#ns, found.value)
    return topic
  }

  /**
   * Sets back what somebody has changed of the topic's streams, and refuses a topic that lacks one. Once in a while: most
   * calls need not know.
   */
  async examine(topic: TopicRef, { now = false } = {}): Promise<void> {
    const { client, names, logger } = this.#ns
    const key = topicKey(topic)
    if (!now && performance.now() - (this.#examined.get(key) ?? Number.NEGATIVE_INFINITY) < EXAMINE_EVERY_MS) return
    for (const settings of settingsOfTopic(names, topic, 0)) {
      try {
        await restoreSettings(client, logger, settings)
      } catch (error) {
        if (!(error instanceof StreamGone)) throw error
        await assertWhole(this.#ns, topic)
        return // Deleted just now.
      }
    }
    this.#examined.set(key, performance.now())
  }

  /** By id, for a token that says no more. */
  async byId(id: number): Promise<Revision<TopicDocument> | undefined> {
    const known = this.#known.get(id)
    if (known !== undefined) return known.topic
    for (const topic of await this.list()) if (topic.value.id === id) return topic
    return undefined
  }

  async list(): Promise<Revision<TopicDocument>[]> {
    const { client, names } = this.#ns
    await this.#ns.assertThere()
    const stored = await this.#there(() => client.lasts(names.namespaceStream(), names.inNamespace('t.*')))
    const named = stored.flatMap(each => parsed<TopicName>(each)?.value ?? []).filter(({ deleting }) => !deleting)
    const topics = await Promise.all(named.map(each => this.#read(each)))
    return topics.filter(each => each !== undefined).toSorted((a, b) => (a.value.name < b.value.name ? -1 : 1))
  }

  /** The topic of a record, as it is now. */
  async read(record: TopicRef): Promise<Revision<TopicDocument>> {
    const found = await this.#read(record)
    if (found?.value.uid === record.uid) return found
    await assertWhole(this.#ns, record)
    throw new TopicNotFoundError(record.name)
  }

  /** The topic as it was at most a second ago. */
  async recent(record: TopicRef): Promise<Revision<TopicDocument>> {
    const known = this.#known.get(record.id)
    if (known?.topic.value.uid === record.uid && performance.now() - known.readAt < FRESH_MS) return known.topic
    return await this.read(record)
  }

  /** Another process may have changed the topic. */
  forget(id: number): void {
    this.#known.delete(id)
  }

  /** Compare-and-set of the topic, with other messages of its stream in the same batch. */
  async change<T>(
    record: TopicRef,
    decide: (topic: TopicDocument, seq: number) => Promise<Decided<T> | 'changed'>,
  ): Promise<T> {
    for (;;) {
      const current = await this.read(record)
      const decided = await decide(current.value, current.seq)
      if (decided === 'changed') continue
      if (!('topic' in decided)) return decided.result
      const key = topicKey(record)
      const write = written(this.#ns.names.topic(key), decided.topic, current.seq)
      try {
        await this.#ns.client.store([...(decided.writes ?? []), write])
        this.forget(record.id)
        return decided.result
      } catch (error) {
        this.forget(record.id)
        if (error instanceof NoAnswer && (await this.#isStored(record, decided.topic))) return decided.result
        if (!(error instanceof Conflict || error instanceof NoAnswer)) throw error
        await pause(Math.random() * 20)
      }
    }
  }

  async create(name: string, given: Partial<TopicConfig>): Promise<void> {
    const { client, names, replicas, clock } = this.#ns
    const config = mergeTopicConfig(name, undefined, given, false)
    await this.#finishDeletion(name)
    const topic: TopicDocument = {
      id: await this.#nextId(),
      uid: random52(),
      name,
      createdAt: clock.now(),
      config,
      configVersion: 1,
      groups: {},
      nextGroup: 1,
      gone: 0,
      removed: 0,
      letters: {},
    }
    const streams = settingsOfTopic(names, topic, replicas)
    try {
      for (const settings of streams) await client.streams.create(settings)
      await client.storeSurely([written(names.topic(topicKey(topic)), topic, 0)])
      await this.#giveName(topic)
    } catch (error) {
      const isTaken = error instanceof Conflict
      // Somebody may have dropped the namespace meanwhile. Its streams were deleted then, but not those made since.
      const why = isTaken ? null : await this.#ns.assertThere().catch((found: unknown) => found)
      if (isTaken || why instanceof NamespaceGoneError) {
        await Promise.all(streams.map(({ name }) => client.streams.delete(name)))
      }
      // If the name is taken, another process was faster: its topic counts.
      if (!isTaken) throw why ?? error
    }
  }

  async #giveName({ id, uid, name }: TopicDocument): Promise<void> {
    const { client, names } = this.#ns
    const last = await client.last(names.namespaceStream(), names.topicName(name))
    // A deleted topic of this name has left a tombstone.
    if (last !== null && last.data.length > 0) throw new Conflict('the name is taken')
    await client.storeSurely([written(names.topicName(name), { id, uid, name } satisfies TopicName, last?.seq ?? 0)])
  }

  async delete(record: TopicRecord): Promise<void> {
    const { client, names } = this.#ns
    const found = await this.#name(record.name)
    if (found === null || found.value.deleting || found.value.uid !== record.uid)
      throw new TopicNotFoundError(record.name)
    const write = written(
      names.topicName(record.name),
      { ...found.value, deleting: true } satisfies TopicName,
      found.seq,
    )
    await client.storeSurely([write]).catch(error => {
      if (error instanceof Conflict) throw new TopicNotFoundError(record.name)
      throw error
    })
    this.forget(record.id)
    await this.#finishDeletion(record.name)
  }

  /** Every group of the topic, as it is now. */
  async groups(topic: TopicDocument): Promise<Revision<GroupDocument>[]> {
    const found = await Promise.all(Object.keys(topic.groups).map(id => this.group(topic, Number(id))))
    return found.filter(each => each !== null).toSorted((a, b) => (a.value.group < b.value.group ? -1 : 1))
  }

  async group(topic: Pick<TopicDocument, 'id' | 'uid'>, id: number): Promise<Revision<GroupDocument> | null> {
    const { client, names } = this.#ns
    const key = topicKey(topic)
    return parsed(await client.last(names.groupStream(key), names.group(key, id)))
  }

  /** A deletion that was interrupted is completed by whoever wants the name. */
  async #finishDeletion(name: string): Promise<void> {
    const { client, names } = this.#ns
    const found = await this.#name(name)
    if (found === null || !found.value.deleting) return
    const key = topicKey(found.value)
    await client.streams.delete(names.logStream(key))
    await client.streams.delete(names.groupStream(key))
    this.#ns.forgetReader(found.value)
    await client
      .storeSurely([{ subject: names.topicName(name), data: new Uint8Array(0), expected: found.seq }])
      .catch(error => {
        // Another process has done the same.
        if (!(error instanceof Conflict)) throw error
      })
  }

  async #nextId(): Promise<number> {
    const { client, names } = this.#ns
    for (;;) {
      const { value, seq } = await this.#ns.document()
      const next: NamespaceDocument = { ...value, nextTopic: value.nextTopic + 1 }
      try {
        await client.store([written(names.namespaceDocument(), next, seq)])
        return value.nextTopic
      } catch (error) {
        if (!(error instanceof Conflict || error instanceof NoAnswer)) throw error
      }
    }
  }

  async #name(name: string): Promise<Revision<TopicName> | null> {
    const { client, names } = this.#ns
    await this.#ns.assertThere()
    return await this.#there(async () => parsed(await client.last(names.namespaceStream(), names.topicName(name))))
  }

  async #read(topic: Pick<TopicRecord, 'id' | 'uid'>): Promise<Revision<TopicDocument> | undefined> {
    const { client, names } = this.#ns
    this.#ns.guard.assertThere()
    const key = topicKey(topic)
    const stored = await client.last(names.groupStream(key), names.topic(key)).catch(async error => {
      if (!(error instanceof StreamGone)) throw error
      await this.#ns.assertThere()
      return null
    })
    const found = parsed<TopicDocument>(stored) ?? undefined
    if (found === undefined) this.forget(topic.id)
    else {
      this.#known.set(topic.id, { topic: found, readAt: performance.now() })
      this.#noteAge(found.value)
    }
    return found
  }

  #noteAge(topic: TopicDocument): void {
    const reader = this.#ns.reader(topic)
    if (topic.aged === undefined || JSON.stringify(reader.aged) === JSON.stringify(topic.aged)) return
    reader.aged = topic.aged
    reader.clear()
  }

  async #isStored(record: TopicRef, wanted: TopicDocument): Promise<boolean> {
    const current = await this.read(record)
    return JSON.stringify(current.value) === JSON.stringify(wanted)
  }

  /** The namespace's own stream is missing only if the namespace is gone. */
  async #there<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StreamGone)) throw error
      await this.#ns.assertThere()
      throw error
    }
  }
}
