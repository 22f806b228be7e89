import { SubscriptionGoneError } from '../../errors.ts'
import type { Subscriptions } from '../subscriptions.ts'
import type { Database } from './database.ts'
import { acknowledgeLoss, endedSubscriptions, removeSubscription } from './dead-groups.ts'
import { resetCursor } from './reset-cursor.ts'
import { resurrectDead } from './resurrect.ts'
import { findSubscription, setStatus, subscribe } from './subscribe.ts'
import { forceAdvance, listZombies } from './zombies.ts'

/** The subscriptions of one schema. */
export function postgresSubscriptions(database: Database): Subscriptions {
  return {
    subscribe: (topic, group, from, settings) =>
      database.expecting({ topic }, () => subscribe(database, topic, group, from, settings)),
    find: (topic, group) => database.expecting({ topic }, () => findSubscription(database, topic, group)),
    setStatus: (topic, subscription, status) =>
      database.expecting({ topic, subscription }, () => setStatus(database, topic, subscription, status)),
    resurrect: (topic, subscription, mode) =>
      database.expecting({ topic, subscription }, () => resurrectDead(database, topic, subscription, mode)),
    resetCursor: (topic, subscription, to, plan) =>
      database.expecting({ topic, subscription }, () => resetCursor(database, topic, subscription, to, plan)),
    forceAdvance: (topic, subscription) =>
      database.expecting({ topic, subscription }, () => forceAdvance(database, topic, subscription)),
    acknowledgeLoss: (topic, subscription) =>
      database.expecting({ topic, subscription }, () => acknowledgeLoss(database, topic, subscription)),
    remove: async (topic, subscription) => {
      try {
        await database.expecting({ topic, subscription }, () => removeSubscription(database, topic, subscription))
      } catch (error) {
        // Another process has removed it.
        if (!(error instanceof SubscriptionGoneError)) throw error
      }
    },
    ended: olderThanMs => database.expecting({}, () => endedSubscriptions(database, olderThanMs)),
    zombies: () => database.expecting({}, () => listZombies(database)),
  }
}
