import { randomBytes } from 'node:crypto'
import type { MsgHdrs } from '@nats-io/transport-node'
import type { NatsAddress } from './address.ts'
import { Connection, type ConnectionOptions, NobodyThere, NotFound } from './connection.ts'
import { type BatchQuery, directBatch } from './direct-batch.ts'
import { NoAnswer } from './errors.ts'
import { type ApiMessage, fromApi, headersOf, type Stored, type Write } from './messages.ts'
import { StreamApi } from './stream-api.ts'

/** Most messages of one atomic batch. */
export const MOST_WRITES = 1_000

/** What the store needs of NATS servers: atomic writes, reads from the leader and from any replica, and streams. */
export class Client {
  readonly connection: Connection
  readonly streams: StreamApi

  private constructor(connection: Connection) {
    this.connection = connection
    this.streams = new StreamApi(connection)
  }

  static async connect(address: NatsAddress, options: ConnectionOptions): Promise<Client> {
    return new Client(await Connection.connect(address, options))
  }

  get where(): string {
    return this.connection.where
  }

  get isClosed(): boolean {
    return this.connection.isClosed
  }

  /**
   * Stores all of the messages of one stream or none. Resolves with the sequence of the last; they are consecutive.
   * `id`: the server stores a message with an id once, however often it is sent.
   */
  async store(writes: readonly Write[], id?: string): Promise<{ readonly seq: number; readonly duplicate: boolean }> {
    const last = writes.at(-1)
    if (last === undefined) throw new Error('nothing to store')
    const lastHeaders = headersOf(last)
    if (id !== undefined) lastHeaders.set('Nats-Msg-Id', id)
    if (writes.length > 1) {
      const batch = randomBytes(12).toString('hex')
      const numbered = (hdrs: MsgHdrs, number: number): MsgHdrs => {
        hdrs.set('Nats-Batch-Id', batch)
        hdrs.set('Nats-Batch-Sequence', String(number))
        return hdrs
      }
      for (const [place, write] of writes.slice(0, -1).entries()) {
        this.connection.publish(write.subject, write.data, numbered(headersOf(write), place + 1))
      }
      numbered(lastHeaders, writes.length).set('Nats-Batch-Commit', '1')
    }
    const answer = await this.connection.request(last.subject, last.data, this.connection.timeoutMs, lastHeaders)
    const ack = this.connection.parsed<{ seq: number; duplicate?: boolean }>(answer)
    return { seq: ack.seq, duplicate: ack.duplicate ?? false }
  }

  /**
   * `store` that is repeated while nobody listens, as for a moment after a stream was created, and of writes that expect
   * nothing also after a lost answer.
   */
  async storeSurely(
    writes: readonly Write[],
    mayRepeat = writes.every(({ expected }) => expected === undefined),
  ): Promise<number> {
    return await this.connection.repeatedly(
      async () => (await this.store(writes)).seq,
      error => error instanceof NobodyThere || (mayRepeat && error instanceof NoAnswer),
    )
  }

  /** The last message of a subject, as the leader has it; null if there is none. */
  async last(stream: string, subject: string): Promise<Stored | null> {
    return await this.#fromLeader(stream, { last_by_subj: subject })
  }

  /** The last message of each subject of a filter, as the leader has them. */
  async lasts(stream: string, filter: string): Promise<Stored[]> {
    const subjects: string[] = []
    for (;;) {
      const { state, total = 0 } = await this.streams.info(stream, { subjects_filter: filter, offset: subjects.length })
      const page = Object.keys(state.subjects ?? {})
      subjects.push(...page)
      if (page.length === 0 || subjects.length >= total) break
    }
    const found = await Promise.all(subjects.map(subject => this.last(stream, subject)))
    return found.filter(each => each !== null)
  }

  /** One message, as the leader has it. */
  async at(stream: string, seq: number): Promise<Stored | null> {
    return await this.#fromLeader(stream, { seq })
  }

  /** The first message of a subject from a sequence on, as the leader has it. */
  async next(stream: string, subject: string, seq: number): Promise<Stored | null> {
    return await this.#fromLeader(stream, { seq, next_by_subj: subject })
  }

  /** Messages of the subject from a sequence or time on, from any replica: one that lags behind returns fewer. */
  async batch(stream: string, query: BatchQuery): Promise<Stored[]> {
    return await this.connection.repeatedly(async () => {
      try {
        return await directBatch(this.connection, stream, query)
      } catch (error) {
        // Nobody listens while no replica runs, and also if there is no such stream: its leader knows.
        if (error instanceof NobodyThere) await this.streams.info(stream)
        throw error
      }
    })
  }

  async close(): Promise<void> {
    await this.connection.close()
  }

  async #fromLeader(stream: string, query: object): Promise<Stored | null> {
    try {
      const { message } = await this.connection.api<{ message: ApiMessage }>(`STREAM.MSG.GET.${stream}`, query)
      return fromApi(message)
    } catch (error) {
      if (error instanceof NotFound) return null
      throw error
    }
  }
}
