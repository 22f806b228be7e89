import type { Runtime } from '../runtime.ts'
import { type BackfillAdmin, backfillAdmin } from './backfill-admin.ts'
import { type ClaimAdmin, claimAdmin } from './claim-admin.ts'
import { type DeadLetterAdmin, deadLetterAdmin } from './dead-letter-admin.ts'
import { type GroupAdmin, groupAdmin } from './group-admin.ts'
import { type HealthAdmin, healthAdmin } from './health-admin.ts'
import { type MessageAdmin, messageAdmin } from './message-admin.ts'
import { type TopicAdmin, topicAdmin } from './topic-admin.ts'

/**
 * Operations for administrators. They show topics without consuming from them, and change groups, claims and dead
 * letters.
 */
export type Admin<Name extends string = string> = TopicAdmin<Name> &
  GroupAdmin<Name> &
  ClaimAdmin<Name> &
  MessageAdmin<Name> &
  DeadLetterAdmin<Name> &
  BackfillAdmin<Name> &
  HealthAdmin

/** `watching`: the runtime, kept informed of what other processes publish. */
export const createAdmin = (runtime: Runtime, watching: () => Runtime): Admin => ({
  ...topicAdmin(runtime),
  ...groupAdmin(runtime),
  ...claimAdmin(runtime),
  ...messageAdmin(runtime, watching),
  ...deadLetterAdmin(runtime),
  ...backfillAdmin(runtime),
  ...healthAdmin(runtime),
})
