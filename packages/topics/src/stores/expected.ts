import type { SubscriptionRef } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** The records that a call was given. Records of another incarnation are refused, and nothing is changed. */
export type Expected = { readonly topic?: TopicRecord; readonly subscription?: SubscriptionRef }
