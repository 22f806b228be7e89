import { SubscriptionGoneError } from '../../errors.ts'
import type { Subscriptions } from '../subscriptions.ts'
import type { SharedClaims } from './claim.ts'
import type { Database } from './database.ts'
import { acknowledgeLoss, endedSubscriptions, removeSubscription } from './dead-groups.ts'
import { previewReset, resetCursor } from './reset-cursor.ts'
import { resurrectDead } from './resurrect.ts'
import { findSubscription, setStatus, subscribe } from './subscribe.ts'
import { forceAdvance, listZombies } from './zombies.ts'

/** The subscriptions of one schema. */
export function postgresSubscriptions(database: Database, claims: SharedClaims): Subscriptions {
  return {
    subscribe: (topic, group, from, settings = {}) =>
      subscribe(database, topic, group, from, settings, (id, place) => claims.placed(topic.id, id, place)),
    find: (topic, group) => database.read({ topic }, tx => findSubscription(tx, topic, group)),
    setStatus: (topic, subscription, status) =>
      database.transaction({ topic, subscription }, tx => setStatus(tx, topic, subscription, status)),
    resurrect: (topic, subscription, mode) =>
      database.transaction({ topic, subscription }, tx => resurrectDead(tx, topic, subscription, mode)),
    resetCursor: (topic, subscription, to, plan) =>
      database.maintenance({ topic, subscription }, tx => resetCursor(tx, topic, subscription, to, plan)),
    previewReset: (topic, subscription, to, most) =>
      database.read({ topic, subscription }, tx => previewReset(tx, topic, subscription, to, most)),
    forceAdvance: (topic, subscription) =>
      database.maintenance({ topic, subscription }, tx => forceAdvance(tx, topic, subscription)),
    acknowledgeLoss: (topic, subscription) =>
      database.transaction({ topic, subscription }, tx => acknowledgeLoss(tx, topic, subscription)),
    remove: async (topic, subscription) => {
      try {
        await database.maintenance({ topic, subscription }, tx => removeSubscription(tx, topic, subscription))
      } catch (error) {
        // Another process has removed it.
        if (!(error instanceof SubscriptionGoneError)) throw error
      }
    },
    ended: olderThanMs => database.read({}, tx => endedSubscriptions(tx, olderThanMs)),
    zombies: () => database.read({}, listZombies),
  }
}
