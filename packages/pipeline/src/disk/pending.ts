import { type GroupHealth, type Tidemark, TopicNotFoundError } from 'tidemark'
import { isEnvironmentFault } from '../faults.ts'
import { topicOfRun } from '../services/notification-topics.ts'
import type { PartSize } from './disk-parts.ts'

/** A consumer group that indexes the batches of a run. */
export type ExpectedGroup = { readonly topic: string; readonly group: string; readonly runId: string }

/**
 * Bytes of an index per byte of its batch files: until it is known, slightly more than a small world with its logs
 * takes.
 */
const FIRST_RATIO = 4
const LEAST_RATIO = 1
const MOST_RATIO = 20
/** The next batches may belong to a larger world. */
const SAFETY = 1.25
/** Below this, the log is larger than the index. */
const ENOUGH_TO_LEARN = 1e6

type KindSize = { readonly bytes: number; readonly files: number }

/** Estimate, rather too high, of the bytes that indexes will use for batches that are stored but not indexed yet. */
export class UnindexedBytes {
  readonly #expected: readonly ExpectedGroup[]
  #ratio = FIRST_RATIO

  constructor(expected: readonly ExpectedGroup[]) {
    this.#expected = expected
  }

  /** Looks how far the indexers are behind; the returned function estimates what is missing by the sizes of the parts. */
  async look(topics: Tidemark | undefined): Promise<(parts: readonly PartSize[]) => number> {
    if (this.#expected.length === 0) return () => 0
    const behind = topics === undefined ? Number.POSITIVE_INFINITY : await this.#batchesBehind(topics)
    return parts => this.#estimate(behind, sizeOfKind(parts, 'storage'), sizeOfKind(parts, 'index'))
  }

  #estimate(batchesBehind: number, stored: KindSize, indexed: KindSize): number {
    if (stored.files === 0) return 0
    const behind = Math.min(batchesBehind, stored.files)
    if (behind === 0) {
      if (stored.bytes > ENOUGH_TO_LEARN) this.#learn(indexed.bytes / stored.bytes)
      return 0
    }
    const waiting = (stored.bytes / stored.files) * behind * this.#ratio
    // No more than all batches together could use.
    return Math.max(0, Math.min(waiting, stored.bytes * this.#ratio - indexed.bytes))
  }

  #learn(ratio: number): void {
    this.#ratio = Math.min(MOST_RATIO, Math.max(LEAST_RATIO, ratio * SAFETY))
  }

  /**
   * By the group that is furthest behind. A group that does not exist yet, because its indexer waits for something, has
   * everything to do.
   */
  async #batchesBehind(topics: Tidemark): Promise<number> {
    const byTopic = Map.groupBy(this.#expected, ({ topic, runId }) => topicOfRun(topic, runId))
    const behind: number[] = []
    for (const [topic, expected] of byTopic) {
      const groups = await groupsOf(topics, topic)
      for (const { group: wanted } of expected) {
        const found = groups.find(({ group }) => group === wanted)
        behind.push(found === undefined ? Number.POSITIVE_INFINITY : waitingIn(found))
      }
    }
    return Math.max(0, ...behind)
  }
}

/** None while there is no topic or it does not answer. */
async function groupsOf(topics: Tidemark, topic: string): Promise<readonly GroupHealth[]> {
  try {
    return await topics.admin.groups(topic)
  } catch (error) {
    if (error instanceof TopicNotFoundError || isEnvironmentFault(error)) return []
    throw error
  }
}

const waitingIn = ({ lagMessages, inFlight, retries }: GroupHealth): number => lagMessages + inFlight + retries

function sizeOfKind(parts: readonly PartSize[], wanted: PartSize['kind']): KindSize {
  const ofKind = parts.filter(({ kind }) => kind === wanted)
  return {
    bytes: ofKind.reduce((sum, { bytes, reusableBytes }) => sum + bytes - reusableBytes, 0),
    files: ofKind.reduce((sum, { files = 0 }) => sum + files, 0),
  }
}
