import type { SubscriptionRef } from './subscription-record.ts'
import type { TopicRecord } from './topic-record.ts'

/** What a verb was given, and expects to find: records of another incarnation are refused, and nothing is changed. */
export type Expected = { readonly topic?: TopicRecord; readonly subscription?: SubscriptionRef }
