/** The hooks of the conformance suites: each edits the documents of the engine. */
import { type ConformanceHooks, MissingHookError } from 'tidemark/conformance'
import { endOf, idOf, placeOf, seqOf } from '../src/entry.ts'
import { tombstone } from '../src/group/change.ts'
import type { GroupDocument, PageSummary, Retry } from '../src/group/document.ts'
import { decodePage, encodePage } from '../src/group/pages.ts'
import { parseToken } from '../src/group/token.ts'
import { parsed, written } from '../src/namespace.ts'
import type { Client } from '../src/nats/client.ts'
import { Conflict } from '../src/nats/errors.ts'
import { Names, type TopicKey, topicKey } from '../src/nats/names.ts'
import type { TopicDocument } from '../src/topic-document.ts'

/** Ends of leases come after the due times of retries, as `expireLeases` promises. */
const LONG_AGO = 1
const LATELY = 2

export function hooksOf(client: Client): Partial<ConformanceHooks> {
  const names = new Names('default')
  const edit = async <T>(stream: string, subject: string, change: (value: T) => T | null): Promise<void> => {
    for (;;) {
      const found = parsed<T>(await client.last(stream, subject))
      const next = found && change(found.value)
      if (found === null || next === null) return
      try {
        await client.store([written(subject, next, found.seq)])
        return
      } catch (error) {
        if (!(error instanceof Conflict)) throw error
      }
    }
  }
  const topics = async (): Promise<TopicDocument[]> => {
    const stored = await client.lasts(names.namespaceStream(), names.inNamespace('t.*'))
    const found = stored.flatMap(each => parsed<TopicDocument>(each)?.value ?? [])
    const read = await Promise.all(
      found.map(async each => {
        const key = topicKey(each)
        return parsed<TopicDocument>(await client.last(names.groupStream(key), names.topic(key)))?.value
      }),
    )
    return read.filter(each => each !== undefined).toSorted((a, b) => a.id - b.id)
  }
  const editTopics = async (change: (topic: TopicDocument) => TopicDocument | null): Promise<void> => {
    for (const topic of await topics()) {
      const key = topicKey(topic)
      await edit(names.groupStream(key), names.topic(key), change)
    }
  }
  const editGroups = async (
    change: (group: GroupDocument, pages: Pages) => GroupDocument | null | Promise<void>,
    which: { readonly subscription?: number | undefined; readonly group?: string | undefined } = {},
  ): Promise<void> => {
    for (const topic of await topics()) {
      const key = topicKey(topic)
      for (const [id, group] of Object.entries(topic.groups)) {
        if (which.subscription !== undefined && Number(id) !== which.subscription) continue
        if (which.group !== undefined && group !== which.group) continue
        const pages = new Pages(client, names, key, Number(id))
        await edit<GroupDocument>(names.groupStream(key), names.group(key, Number(id)), value => {
          const changed = change(value, pages)
          return changed instanceof Promise ? null : changed
        })
      }
    }
  }
  /** The incarnation is part of the names of streams, so another topic has others. */
  const replaceTopic = async (topic: TopicDocument): Promise<void> => {
    const other = { ...topic, uid: 4_711 }
    const [old, key] = [topicKey(topic), topicKey(other)]
    await client.streams.create({ name: names.logStream(key), subjects: [names.inLog(key, '>')], replicas: 1 })
    const groups = { name: names.groupStream(key), subjects: [names.inGroups(key, '>')], replicas: 1, last: true }
    await client.streams.create(groups)
    await client.store([written(names.topic(key), { ...other, groups: {} }, 0)])
    await edit<object>(names.namespaceStream(), names.topicName(topic.name), name => ({ ...name, uid: 4_711 }))
    for (const name of [names.logStream(old), names.groupStream(old)]) await client.streams.delete(name)
  }
  return {
    expireLeases: async ({ subscription, token } = {}) => {
      const number = token === undefined ? undefined : parseToken(token)?.number
      const of = token === undefined ? subscription : parseToken(token)?.subscription
      await editGroups(
        group => {
          for (const [each, lease] of Object.entries(group.leases)) {
            if (number !== undefined && Number(each) !== number) continue
            if (lease.deadline !== null) lease.deadline = LATELY
          }
          return group
        },
        { subscription: of },
      )
    },
    makeRetriesDue: async ({ subscription, onlyDue = false } = {}) => {
      const now = Date.now() + 1
      const earlier = <T extends Retry>(retry: T): T =>
        onlyDue && retry.due > now ? retry : { ...retry, due: LONG_AGO }
      await editGroups(
        group => ({
          ...group,
          retries: group.retries.map(earlier),
          pages: group.pages.map(page => ({ ...page, due: dueOf(page, onlyDue, now) })),
        }),
        { subscription },
      )
      for (const topic of await topics()) {
        const key = topicKey(topic)
        for (const id of Object.keys(topic.groups)) {
          await new Pages(client, names, key, Number(id)).editAll(retries => retries.map(earlier))
        }
      }
    },
    ageGroups: async (ms, name) => {
      await editGroups(
        group => ({
          ...group,
          lastBeatAt: group.lastBeatAt - ms,
          missedAt: group.missedAt === null ? null : group.missedAt - ms,
          statusAt: group.statusAt - ms,
          movedAt: group.movedAt - ms,
        }),
        { group: name },
      )
      for (const topic of await topics()) {
        const key = topicKey(topic)
        const stream = names.groupStream(key)
        const reports = await client.lasts(stream, names.inGroups(key, 'c.*.*'))
        for (const { subject } of reports) {
          await edit<{ reportedAt: number }>(stream, subject, value => ({
            ...value,
            reportedAt: value.reportedAt - ms,
          }))
        }
      }
    },
    ageMessages: async (name, ms) => {
      for (const topic of await topics()) {
        if (topic.name !== name) continue
        const key = topicKey(topic)
        const { state } = await client.streams.info(names.logStream(key))
        await edit<TopicDocument>(names.groupStream(key), names.topic(key), value => ({
          ...value,
          aged: [...(value.aged ?? []), [state.last_seq, ms] as const],
        }))
      }
    },
    ageTopics: ms => editTopics(topic => ({ ...topic, createdAt: topic.createdAt - ms })),
    ageJobs: async ms => {
      const stream = names.namespaceStream()
      const jobs = await client.lasts(stream, names.inNamespace('j.*'))
      const earlier = (at: number | null): number | null => (at === null ? null : at - ms)
      for (const { subject } of jobs) {
        await edit<Record<string, number | null>>(stream, subject, job => ({
          ...job,
          lockedUntil: earlier(job.lockedUntil ?? null),
          startedAt: earlier(job.startedAt ?? null),
          finishedAt: earlier(job.finishedAt ?? null),
          succeededAt: earlier(job.succeededAt ?? null),
        }))
      }
    },
    setStatus: (name, status) => editGroups(group => ({ ...group, status }), { group: name }),
    removeGroups: async () => {
      for (const topic of await topics()) {
        const key = topicKey(topic)
        for (const id of Object.keys(topic.groups)) {
          const subject = names.group(key, Number(id))
          const last = await client.last(names.groupStream(key), subject)
          await client.store([tombstone(subject, last?.seq ?? 0)])
        }
      }
      await editTopics(topic => ({ ...topic, groups: {} }))
    },
    forgetLeases: ({ subscription, closed = false } = {}) =>
      editGroups(
        group =>
          closed
            ? { ...group, expired: forgotten(group) }
            : { ...group, expired: [], leases: {}, nextLease: 1, floor: 1 },
        { subscription },
      ),
    moveCursors: ids =>
      editGroups(group => ({
        ...group,
        cursor: endOf(seqOf(group.cursor) + ids),
        lastId: idOf(seqOf(group.lastId) + ids, placeOf(group.lastId)),
      })),
    ageMessageIds: async ms => {
      for (const topic of await topics()) {
        const key = topicKey(topic)
        for (const marker of await client.lasts(names.logStream(key), names.marker(key, '*'))) {
          const livesMs = Number.parseInt(marker.header('Nats-TTL'), 10) * 1_000
          // As the server removes what has lived for so long. A marker without a limit has no such header.
          if (livesMs <= ms)
            await client.connection.api(`STREAM.MSG.DELETE.${names.logStream(key)}`, { seq: marker.seq })
        }
      }
    },
    // A write that puts the same text in the same place is no change; nor is a look at the clock of the servers.
    contents: async () => {
      const found: string[] = []
      for (const stream of await client.streams.names(names.prefix())) {
        for (let seq = 1; ; ) {
          const next = await client.next(stream, '>', seq)
          if (next === null) break
          seq = next.seq + 1
          if (next.subject === names.inNamespace('clock')) continue
          found.push(`${stream} ${next.subject} ${Buffer.from(next.data).toString('base64')}`)
        }
      }
      return found.toSorted()
    },
    breakDown: async what => {
      const stored = { publish: 'L', claim: 'G', settle: undefined, heartbeat: undefined }[what]
      // Claims, settlements and heartbeats write the same document, so a test of the others can't begin.
      if (stored === undefined) throw new MissingHookError(`breakDown of a ${what}`)
      const limit = async (max_bytes: number): Promise<void> => {
        for (const stream of await client.streams.names(names.prefix() + stored)) {
          const { config } = await client.streams.info(stream)
          await client.connection.api(`STREAM.UPDATE.${stream}`, { ...config, max_bytes })
        }
      }
      const mend = async (): Promise<void> => await limit(-1)
      // As if its part of the disk were full.
      await limit(1)
      return { mend, [Symbol.asyncDispose]: mend }
    },
    replaceIdentity: async of => {
      if (of === 'topics') for (const topic of await topics()) await replaceTopic(topic)
      else await editGroups(group => ({ ...group, uid: 4_711 }))
    },
  }
}

/** Leases that have ended: their tokens are no longer known. */
const forgotten = ({ nextLease, leases, at }: GroupDocument): GroupDocument['expired'] =>
  Array.from({ length: nextLease - 1 }, (_, n) => n + 1)
    .filter(number => leases[number] === undefined)
    .map(number => ({ number, nonce: '', settled: null, size: 0, at }))

const dueOf = ({ due }: PageSummary, onlyDue: boolean, now: number): PageSummary['due'] =>
  Object.fromEntries(Object.entries(due).map(([kind, at]) => [kind, onlyDue && at > now ? at : LONG_AGO]))

/** The retry pages of a group. */
class Pages {
  readonly #client: Client
  readonly #names: Names
  readonly #key: TopicKey
  readonly #id: number

  constructor(client: Client, names: Names, key: TopicKey, id: number) {
    this.#client = client
    this.#names = names
    this.#key = key
    this.#id = id
  }

  async editAll(change: (retries: readonly Retry[]) => readonly Retry[]): Promise<void> {
    const stream = this.#names.groupStream(this.#key)
    const subject = this.#names.page(this.#key, this.#id, '*')
    for (const stored of await this.#client.lasts(stream, subject)) {
      if (stored.data.length === 0) continue
      const data = encodePage(change(decodePage(stored.data)))
      await this.#client.store([{ subject: stored.subject, data, expected: stored.seq }])
    }
  }
}
