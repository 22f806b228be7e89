import { SubscriptionGoneError } from '../../errors.ts'
import type { Subscriptions } from '../subscriptions.ts'
import type { Connection } from './connection.ts'
import { endedSubscriptions, removeSubscription } from './dead-groups.ts'
import { acknowledgeLoss } from './loss.ts'
import { previewReset, resetCursor } from './reset-cursor.ts'
import { resurrectDead } from './resurrect.ts'
import { setStatus } from './set-status.ts'
import { subscribe } from './subscribe.ts'
import { findSubscription } from './subscription-rows.ts'
import { forceAdvance, listZombies } from './zombies.ts'

/** The subscriptions of one file. */
export function sqliteSubscriptions(connection: Connection): Subscriptions {
  return {
    subscribe: (topic, group, from, settings) =>
      connection.writeUnlessHeld(tx => subscribe(tx, topic, group, from, settings), { topic }),
    find: (topic, group) => connection.read(tx => findSubscription(tx, topic, group), { topic }),
    setStatus: (topic, subscription, status) =>
      connection.writeUnlessHeld(tx => setStatus(tx, topic, subscription, status), { topic, subscription }),
    resurrect: (topic, subscription, mode) =>
      connection.writeUnlessHeld(tx => resurrectDead(tx, topic, subscription, mode), { topic, subscription }),
    resetCursor: (topic, subscription, to, plan) =>
      connection.writeUnlessHeld(tx => resetCursor(tx, topic, subscription, to, plan), { topic, subscription }),
    previewReset: (topic, subscription, to) =>
      connection.read(tx => previewReset(tx, topic, subscription, to), { topic, subscription }),
    forceAdvance: (topic, subscription) =>
      connection.write(true, tx => forceAdvance(tx, topic, subscription), { topic, subscription }),
    acknowledgeLoss: (topic, subscription) =>
      connection.write(true, tx => acknowledgeLoss(tx, topic, subscription), { topic, subscription }),
    remove: async (topic, subscription) => {
      try {
        await connection.write(true, tx => removeSubscription(tx, topic, subscription), { topic, subscription })
      } catch (error) {
        // Another process has removed it.
        if (!(error instanceof SubscriptionGoneError)) throw error
      }
    },
    ended: olderThanMs => connection.read(tx => endedSubscriptions(tx, olderThanMs)),
    zombies: () => connection.read(listZombies),
  }
}
