import { readTopicConfig, type StoredTopicConfig, type TopicRecord } from 'tidemark/store'

/** The topic: its configuration, its groups, and the first message that it still has. */
export type TopicDocument = {
  readonly id: number
  readonly uid: number
  readonly name: string
  readonly createdAt: number
  readonly config: StoredTopicConfig
  readonly configVersion: number
  /** Subscription id → group. */
  readonly groups: Readonly<Record<string, string>>
  readonly nextGroup: number
  /** Messages below this id are gone. */
  readonly gone: number
  /** Number of messages that are gone. */
  readonly removed: number
  /** Dead letters of removed groups. */
  readonly letters: Readonly<Record<string, number>>
  /** Entries up to a sequence count as this much older. Tests let time pass with it. */
  readonly aged?: readonly (readonly [upTo: number, ms: number])[]
}

export const recordOf = ({ id, uid, name, config, configVersion }: TopicDocument): TopicRecord => ({
  id,
  uid,
  name,
  config: readTopicConfig(config),
  configVersion,
})
