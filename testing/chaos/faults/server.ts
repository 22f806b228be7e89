/** Faults of a PostgreSQL server: crashes, ended sessions, and copies that are behind. */
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { findFreePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { now } from '../journal.ts'
import type { ServerPlace } from '../place.ts'
import type { Fault, Scene } from './fault.ts'

const LOSING_MS = 1_200
const LOST_MESSAGES = 180
const LONGEST_LOSING_MS = 6_000

export const restart: Fault = {
  name: 'restart',
  about: 'PostgreSQL: immediate stop of the server and a new start',
  engines: ['postgres'],
  lane: 'database',
  reaches: [],
  async inject(scene, random) {
    const place = serverOf(scene)
    const from = now()
    await place.server.stop('immediate')
    await delay(random.below(800))
    await place.server.start()
    scene.journal.write({ what: 'crash', fault: 'restart', scope: '', from, to: now() })
  },
}

export const terminate: Fault = {
  name: 'terminate',
  about: 'PostgreSQL: half of the sessions are ended with pg_terminate_backend',
  engines: ['postgres'],
  lane: 'database',
  reaches: [],
  async inject(scene, random) {
    const seed = random.below(1_000)
    await execute(
      scene,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where backend_type = 'client backend' and pid <> pg_backend_pid() and (pid + ${seed}) % 2 = 0`,
    )
  },
}

export const lostCommits: Fault = {
  name: 'lost-commits',
  about: 'PostgreSQL: synchronous_commit = off, then a crash that takes the newest commits',
  engines: ['postgres'],
  lane: 'database',
  reaches: [],
  async inject(scene) {
    const place = serverOf(scene)
    await execute(scene, 'checkpoint')
    const from = now()
    await configure(scene, ["synchronous_commit = 'off'", "wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'"])
    await enoughPublished(scene)
    await place.server.stop('immediate')
    const to = now()
    await place.server.start()
    await configure(scene, [
      'synchronous_commit = default',
      'wal_writer_delay = default',
      'wal_writer_flush_after = default',
    ])
    scene.journal.write({ what: 'loss', fault: 'lost-commits', scope: '', from, to })
  },
}

export const failover: Fault = {
  name: 'failover',
  about: 'PostgreSQL: a standby that is behind takes the place of its primary',
  engines: ['postgres'],
  lane: 'database',
  reaches: [],
  async inject(scene) {
    const place = serverOf(scene)
    const primary = place.server
    const replica = await primary.replica(`replica-${now()}`, await findFreePort())
    await replica.start()
    // Whatever was acknowledged before this is on the standby. What comes later may be missing from it: the primary
    // answers without waiting for it.
    let from = now()
    const isFollowing = async (): Promise<boolean> => {
      from = now()
      return await hasCaughtUp(primary.url, replica.url)
    }
    await until(isFollowing, { what: 'the standby to follow', timeout: 60_000 })
    await replica.stop('fast')
    await delay(LOSING_MS)
    await primary.stop('immediate')
    const to = now()
    const successor = replica.movedTo(primary.port)
    await successor.start()
    place.server = successor
    await execute(scene, 'select pg_promote()')
    scene.journal.write({ what: 'loss', fault: 'failover', scope: '', from, to })
  },
}

export const restoredServer: Fault = {
  name: 'restored-copy',
  about: 'the data folder or file is replaced by an earlier copy',
  engines: ['postgres'],
  lane: 'database',
  reaches: [],
  async inject(scene) {
    const { server } = serverOf(scene)
    await server.stop('fast')
    const copy = await server.copyData(`copy-${now()}`)
    const from = now()
    await server.start()
    await delay(LOSING_MS)
    await server.stop('immediate')
    const to = now()
    await server.restoreData(copy)
    await server.start()
    scene.journal.write({ what: 'loss', fault: 'restored-copy', scope: '', from, to })
  },
}

export function serverOf({ place }: Scene): ServerPlace {
  if (place.server === undefined) throw new Error('This fault needs a PostgreSQL server')
  return place.server
}

/**
 * A server logs 32 values of a sequence ahead: only if more messages of a topic than that are lost are their ids given out
 * again. Their number also bounds the wait on a machine that is slow.
 */
async function enoughPublished(scene: Scene): Promise<void> {
  const text = `select coalesce(sum(last_value), 0)::int as ids from pg_sequences where sequencename ~ '^log_[0-9]+_id$'`
  const drawn = async (): Promise<number> =>
    (await query<{ ids: number }>(serverOf(scene).server.url, text))[0]?.ids ?? 0
  const before = await drawn()
  const isEnough = async (): Promise<boolean> => {
    await delay(LOSING_MS / 4)
    return (await drawn()) - before >= LOST_MESSAGES
  }
  await until(isEnough, { what: 'messages to lose', timeout: LONGEST_LOSING_MS }).catch(() => {}) // Then fewer are lost.
}

async function hasCaughtUp(primary: string, replica: string): Promise<boolean> {
  const [{ lsn } = { lsn: '0/0' }] = await query<{ lsn: string }>(primary, 'select pg_current_wal_lsn() as lsn')
  const text = `select pg_last_wal_replay_lsn() >= '${lsn}' as is_there`
  return (await query<{ is_there: boolean }>(replica, text))[0]?.is_there === true
}

async function configure(scene: Scene, settings: readonly string[]): Promise<void> {
  for (const setting of settings) await execute(scene, `alter system set ${setting}`)
  await execute(scene, 'select pg_reload_conf()')
}

const execute = (scene: Scene, text: string): Promise<unknown> => query(serverOf(scene).server.url, text)

async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {}) // The query that it interrupts tells the same.
  try {
    await client.connect()
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}
