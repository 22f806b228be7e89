import type { TopicConfig } from '../topic-config.ts'
import type { TopicRecord } from './topic-record.ts'

/** The topics of a namespace and their configuration. */
export type Topics = {
  /** Returns the topic with this name. */
  find(name: string): Promise<TopicRecord | undefined>
  /** As `find`, for a publish inside the caller's transaction. `create`: create the topic with defaults if it is missing. */
  findIn(tx: unknown, name: string, create: boolean): Promise<TopicRecord | undefined>
  /** The same for `publishSync`. */
  findInSync?(tx: unknown, name: string, create: boolean): TopicRecord | undefined
  /** Lists all topics. */
  list(): Promise<TopicRecord[]>
  /** Creates the topic with defaults for what is not given, or changes the given settings of an existing one. */
  configure(name: string, given: Partial<TopicConfig>): Promise<TopicRecord>
  /** The result of `configure` for an existing topic, and the number of messages that could be removed then. */
  preview(topic: TopicRecord, given: Partial<TopicConfig>): Promise<ConfigPreviewRecord>
  /** Deletes the topic with its log, groups, leases and dead letters. */
  delete(topic: TopicRecord): Promise<void>
}

/** What a change of settings would do. */
export type ConfigPreviewRecord = {
  /** Settings after the change. */
  readonly config: TopicConfig
  /** Number of messages that the next clean-up could remove under them; on PostgreSQL computed from ids. */
  readonly removable: number
}
