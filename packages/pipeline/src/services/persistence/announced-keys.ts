import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { ConsumerGroup, Tidemark } from 'tidemark'

const BATCH_SIZE = 500
const POLL_MS = 25
/** What is not known then is verified again for nothing, and that is all. */
const CATCH_UP_MS = 30_000

/**
 * The keys a topic has announced, by any process: read from the topic itself with a group of its own, from the
 * beginning and then on and on. It only saves work. A key that is missing here is announced again, and the topic takes
 * it once.
 */
export class AnnouncedKeys {
  readonly #topics: Tidemark
  readonly #topic: string
  readonly #names = new Map<string, Set<string>>()
  /** Of folders all of whose files are announced: what a listing of them came to. */
  readonly #sealed = new Map<string, string>()
  /** A cancelled group never comes back, so every start has one of its own. */
  #name = ''
  #group: ConsumerGroup | undefined

  constructor(topics: Tidemark, topic: string) {
    this.#topics = topics
    this.#topic = topic
  }

  async start(): Promise<void> {
    this.#name = `reconciler-${randomUUID()}`
    const group = this.#topics.consumerGroup(this.#topic, this.#name, { batchSize: BATCH_SIZE })
    group.addConsumer(this.#name, async ({ messageId }) => this.add(messageId))
    await group.start({ from: 'beginning' })
    this.#group = group
  }

  /** Resolves when what was announced before the call is known. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const until = performance.now() + CATCH_UP_MS
    while (!signal.aborted && performance.now() < until && (await this.#isBehind())) await delay(POLL_MS)
  }

  /** Of all keys of one folder, those that are not known to be announced. */
  missingOf(folder: string, keys: readonly string[]): readonly string[] {
    if (this.#sealed.get(folder) === digestOf(keys)) {
      // Twice the same, so nothing is being written there any more: the digest does for the names from now on.
      this.#names.delete(folder)
      return []
    }
    this.#sealed.delete(folder)
    return keys.filter(key => !this.has(key))
  }

  /** These were all keys of the folder, and all are announced. A run of any length then takes a digest a folder. */
  seal(folder: string, keys: readonly string[]): void {
    this.#sealed.set(folder, digestOf(keys))
  }

  has(key: string): boolean {
    const { folder, name } = split(key)
    return this.#names.get(folder)?.has(name) === true
  }

  add(key: string): void {
    const { folder, name } = split(key)
    const names = this.#names.get(folder)
    if (names) names.add(name)
    else this.#names.set(folder, new Set([name]))
  }

  /** The group goes with it, so that it holds nothing back. */
  async stop(): Promise<void> {
    const group = this.#group
    this.#group = undefined
    this.#names.clear()
    this.#sealed.clear()
    await group?.cancel()
  }

  async #isBehind(): Promise<boolean> {
    const { groups } = await this.#topics.admin.describeTopic(this.#topic)
    const mine = groups.find(({ group }) => group === this.#name)
    return mine !== undefined && mine.backlog + mine.inFlight + mine.retries > 0
  }
}

const digestOf = (keys: readonly string[]): string => createHash('sha256').update(keys.join('\n')).digest('base64')

export const folderOf = (key: string): string => split(key).folder

function split(key: string): { folder: string; name: string } {
  const slash = key.lastIndexOf('/')
  return { folder: key.slice(0, slash), name: key.slice(slash + 1) }
}
