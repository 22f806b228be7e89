import { createHash } from 'node:crypto'
import { type Tidemark, TopicNotFoundError } from 'tidemark'

const PAGE = 1_000

/**
 * The keys that a run's topic has announced, by any process: read continuously from the topic itself, without
 * consuming. It only saves work: a key that is missing here is announced again, and the topic deduplicates it.
 */
export class AnnouncedKeys {
  readonly #topics: Tidemark
  readonly #topic: string
  readonly #names = new Map<string, Set<string>>()
  /** Digests of folders whose files are all announced. */
  readonly #sealed = new Map<string, string>()
  #readTo = 0

  constructor(topics: Tidemark, topic: string) {
    this.#topics = topics
    this.#topic = topic
  }

  /**
   * Of all keys of one folder, those that are not known to be announced. `keepsNames`: files of the run are being
   * removed; without the names, each removal would make the other files of its folder be verified again.
   */
  async missingOf(folder: string, keys: readonly string[], keepsNames = false): Promise<readonly string[]> {
    if (this.#sealed.get(folder) === digestOf(keys)) {
      // The same twice, so nothing is written there any more: from now on the digest replaces the names.
      if (!keepsNames) this.#names.delete(folder)
      return []
    }
    this.#sealed.delete(folder)
    return await this.#missing(keys)
  }

  /** Whether one of them is announced. */
  async hasAny(keys: readonly string[]): Promise<boolean> {
    return keys.some(key => this.has(key)) || (await this.#missing(keys)).length < keys.length
  }

  /** These were all keys of the folder, and all are announced. A run of any length then needs one digest per folder. */
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

  async #missing(keys: readonly string[]): Promise<readonly string[]> {
    const isUnknown = (key: string): boolean => !this.has(key)
    if (keys.some(isUnknown)) await this.#readOn()
    return keys.filter(isUnknown)
  }

  async #readOn(): Promise<void> {
    for (let next: number | null = this.#readTo; next !== null; ) {
      const page = await this.#page(next)
      for (const { messageId } of page.messages) this.add(messageId)
      this.#readTo = page.messages.at(-1)?.id ?? this.#readTo
      next = page.next
    }
  }

  async #page(after: number) {
    try {
      return await this.#topics.admin.browse(this.#topic, { after, limit: PAGE })
    } catch (error) {
      // Nothing of the run was announced yet.
      if (error instanceof TopicNotFoundError) return { messages: [], next: null }
      throw error
    }
  }
}

const digestOf = (keys: readonly string[]): string => createHash('sha256').update(keys.join('\n')).digest('base64')

export const folderOf = (key: string): string => split(key).folder

function split(key: string): { folder: string; name: string } {
  const slash = key.lastIndexOf('/')
  return { folder: key.slice(0, slash), name: key.slice(slash + 1) }
}
