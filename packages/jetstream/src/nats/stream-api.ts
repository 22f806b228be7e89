import { DatabaseVersionError } from 'tidemark'
import type { Connection } from './connection.ts'
import { StreamExists, StreamGone, withoutJetStream } from './errors.ts'

export type StreamSettings = {
  readonly name: string
  readonly subjects: readonly string[]
  readonly replicas: number
  /** One message per subject. */
  readonly last?: boolean
}

export type StreamInfo = {
  readonly config: {
    readonly name: string
    readonly num_replicas: number
    readonly allow_atomic?: boolean
    readonly max_bytes?: number
  }
  /** The server's clock. */
  readonly ts?: string
  readonly state: {
    readonly messages: number
    readonly bytes: number
    readonly first_seq: number
    readonly last_seq: number
    readonly subjects?: Readonly<Record<string, number>>
  }
  /** Number of subjects, of which the answer may have a part. */
  readonly total?: number
  /** In the answer to a creation. */
  readonly did_create?: boolean
  readonly cluster?: {
    /** Not of a server that stands alone. */
    readonly name?: string
    readonly leader?: string
    readonly replicas?: readonly {
      readonly name: string
      readonly current: boolean
      readonly offline?: boolean
      readonly lag?: number
      /** Nanoseconds since the leader has heard of it. */
      readonly active?: number
    }[]
  }
}

export type AccountInfo = { readonly storage: number; readonly limits: { readonly max_storage: number } }

/** Streams of the account. */
export class StreamApi {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Creates a stream, or returns the existing one. A server that is too old drops the setting that all writes need. */
  async create({ name, subjects, replicas, last = false }: StreamSettings): Promise<void> {
    const config = {
      name,
      subjects,
      num_replicas: replicas,
      retention: 'limits',
      storage: 'file',
      discard: 'new',
      allow_direct: true,
      allow_atomic: true,
      allow_msg_ttl: true,
      duplicate_window: 120e9,
      max_msgs_per_subject: last ? 1 : -1,
      max_msgs: -1,
      max_bytes: -1,
      max_age: 0,
      max_msg_size: -1,
    }
    const info = await this.#connection.api<StreamInfo>(`STREAM.CREATE.${name}`, config).catch(error => {
      // It exists with other settings, such as another number of replicas.
      if (error instanceof StreamExists) return this.info(name)
      throw error
    })
    if (info.config.allow_atomic === true) return
    // Never one that was there before: an older server that took over a namespace must not cost its data.
    if (info.did_create === true) await this.delete(name)
    throw new DatabaseVersionError(
      `The NATS server at ${this.#connection.where} (${this.#connection.serverVersion}) is too old: it ignores atomic batches, which came with ` +
        '2.12. Update every server of the cluster',
    )
  }

  async delete(name: string): Promise<void> {
    await this.#connection.api(`STREAM.DELETE.${name}`).catch(error => {
      if (!(error instanceof StreamGone)) throw error
    })
  }

  info(name: string, query: object = {}): Promise<StreamInfo> {
    return this.#connection.api<StreamInfo>(`STREAM.INFO.${name}`, query)
  }

  async names(prefix: string): Promise<string[]> {
    const names: string[] = []
    for (;;) {
      const page = await this.#connection.api<{ streams: string[] | null; total: number }>('STREAM.NAMES', {
        offset: names.length,
      })
      names.push(...(page.streams ?? []))
      if (names.length >= page.total || (page.streams ?? []).length === 0) break
    }
    return names.filter(name => name.startsWith(prefix))
  }

  /** Removes the messages of a subject below a sequence. */
  async purge(stream: string, filter: string, seq?: number): Promise<number> {
    const { purged } = await this.#connection.api<{ purged: number }>(`STREAM.PURGE.${stream}`, {
      filter,
      ...(seq && { seq }),
    })
    return purged
  }

  /** What the account stores and may store. Refuses servers and accounts without JetStream. */
  async account(): Promise<AccountInfo> {
    try {
      return await this.#connection.api<AccountInfo>('INFO')
    } catch (error) {
      // Another server of the cluster may have it, so nobody's answer counts, not the server's greeting.
      if (this.#connection.hasJetStream) throw error
      throw withoutJetStream(this.#connection.where, error)
    }
  }
}
