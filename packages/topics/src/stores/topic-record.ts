import type { TopicConfig } from '../topic-config.ts'

export type TopicRecord = {
  readonly id: number
  readonly name: string
  /** 52 random bits: the topic's incarnation. Some of them are in every derived messageId. */
  readonly uid: number
  readonly config: TopicConfig
  /** Grows with every change of the configuration. */
  readonly configVersion: number
}
