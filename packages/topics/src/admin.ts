import type { Engine } from './consume/engine.ts'
import { TopicNotFoundError } from './errors.ts'
import { JOB_NAMES, type JobName, type JobResult } from './maintenance/job.ts'
import { messageIdOf } from './message-id.ts'
import { checkName } from './names.ts'
import { Options } from './options.ts'
import type { FailedAttempt, FailureRecord, TopicDescription, TopicRecord } from './stores/store.ts'

export type DeadLetterMessage = {
  /** Of the dead letter itself; `after` takes it for the next page. */
  readonly id: number
  readonly topic: string
  readonly group: string
  readonly messageId: string
  readonly key: string | null
  /** 'json', 'bytes', or a protobuf type URL. */
  readonly type: string
  readonly headers: Readonly<Record<string, string>>
  /** As it is stored: JSON text or bytes, so that what could not be decoded can still be seen. */
  readonly payload: string | Uint8Array
  readonly createdAt: Date
  readonly attempts: number
  readonly error: FailureRecord
  readonly history: readonly FailedAttempt[]
  readonly deadAt: Date
}

export type JobVerbs = {
  readonly [name in JobName]: {
    /** What it did, by name; rejects with JobBusyError while another process runs it. */
    runOnce(): Promise<JobResult>
  }
}

/** Looking into topics without consuming from them. */
export class Admin {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** The maintenance jobs: `tm.admin.jobs['dead-groups'].runOnce()` runs one now. */
  readonly jobs = Object.fromEntries(
    JOB_NAMES.map(name => [name, { runOnce: () => this.#engine.maintenance.runOnce(name) }]),
  ) as JobVerbs

  /** How far each group is. Cheap: it reads positions, leases and retries, not the log. */
  async describeTopic(topic: string): Promise<TopicDescription> {
    return await this.#engine.store.describeTopic(await this.#topic(topic))
  }

  /** Oldest first, a page at a time. */
  async deadLetters(
    topic: string,
    given?: { group?: string; after?: number; limit?: number },
  ): Promise<DeadLetterMessage[]> {
    const options = new Options('deadLetters', given)
    const group = options.string('group', undefined)
    const after = options.integer('after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
    const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
    options.done()
    const record = await this.#topic(topic)
    const letters = await this.#engine.store.deadLetters(record, {
      after,
      limit,
      ...(group !== undefined && { group }),
    })
    return letters.map(({ message, deadAt, ...letter }) => ({
      ...letter,
      topic,
      messageId: message.messageId ?? messageIdOf(record.uid, message.id),
      key: message.key,
      type: message.type ?? 'json',
      headers: message.headers === null ? {} : JSON.parse(message.headers),
      payload: message.payload,
      createdAt: new Date(message.createdAt),
      deadAt: new Date(deadAt),
    }))
  }

  /** Never creates one. */
  async #topic(name: string): Promise<TopicRecord> {
    this.#engine.assertOpen()
    const record = await this.#engine.store.topic(checkName('topic', name))
    if (record === undefined) throw new TopicNotFoundError(name)
    return record
  }
}
