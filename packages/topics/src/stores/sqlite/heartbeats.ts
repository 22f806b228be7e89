import { TooManyGroupsError } from '../../errors.ts'
import type { Heartbeat, HeartbeatResult, Heartbeats } from '../heartbeats.ts'
import type { Resurrected } from '../subscription-record.ts'
import type { Connection } from './connection.ts'
import { listConsumers, reportConsumers } from './consumers.ts'
import { detectDead } from './dead-groups.ts'
import { recordBeat } from './record-beat.ts'
import { resurrect } from './resurrect.ts'
import { rowOf } from './rows.ts'
import type { SubscriptionRow } from './subscription-rows.ts'
import type { Transaction } from './transaction.ts'

/** The heartbeats of one file's groups. */
export function sqliteHeartbeats(connection: Connection): Heartbeats {
  return {
    send: beats => connection.write(false, tx => heartbeat(tx, beats)),
    consumers: topic => connection.read(tx => listConsumers(tx, topic), { topic }),
    detectDead: () => connection.write(true, detectDead),
  }
}

/** Call it inside a write transaction. */
function heartbeat(tx: Transaction, beats: readonly Heartbeat[]): HeartbeatResult[] {
  const now = tx.now()
  return beats.map(beat => {
    const { subscriptionId, subscriptionUid } = beat
    const row = rowOf<Pick<SubscriptionRow, 'status'>>(
      tx.prepare('select status from tidemark_subscription where id = ? and uid = ?'),
      subscriptionId,
      subscriptionUid,
    )
    if (row === undefined) return { subscriptionId, status: 'GONE', resurrected: null }
    if (row.status === 'CANCELLED') return { subscriptionId, status: 'CANCELLED', resurrected: null }
    const resurrected = row.status === 'DEAD' ? resurrectIfRoom(tx, subscriptionId) : null
    recordBeat(tx, beat, now)
    if (beat.activity) reportConsumers(tx, subscriptionId, beat.activity, now)
    return { subscriptionId, status: resurrected ? 'ACTIVE' : row.status, resurrected }
  })
}

/** null if the bitmaps have no free bit for it. That must not fail the heartbeats of the others. */
function resurrectIfRoom(tx: Transaction, subscriptionId: number): Resurrected | null {
  try {
    return resurrect(tx, subscriptionId)
  } catch (error) {
    if (error instanceof TooManyGroupsError) return null
    throw error
  }
}
