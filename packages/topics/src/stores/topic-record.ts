import type { TopicConfig } from '../topic-config.ts'

/** A topic as stored in the database. */
export type TopicRecord = {
  /** Id of the topic. */
  readonly id: number
  /** Name of the topic. */
  readonly name: string
  /** Incarnation of the topic: 52 random bits, some of which are part of every derived messageId. */
  readonly uid: number
  /** Configuration of the topic. */
  readonly config: TopicConfig
  /** Version of the configuration: grows with every change. */
  readonly configVersion: number
}
