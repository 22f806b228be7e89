import { setTimeout as delay } from 'node:timers/promises'
import { type Backoff, backoffMs, spread } from '../../backoff.ts'
import type { SqliteDatabase, SqliteDriver } from './driver.ts'
import { IndexRoom } from './index-room.ts'
import { isBusy, mapError } from './sqlite-errors.ts'

const PATIENCE_MS = 10_000
const BUSY: Backoff = { initialMs: 1, maxMs: 50, factor: 2 }

/** Reads a file without writing to it, and retries while another process keeps it locked. */
export async function readOnly<T>(path: string, driver: SqliteDriver, look: (db: SqliteDatabase) => T): Promise<T> {
  const started = performance.now()
  for (let attempt = 1; ; attempt++) {
    try {
      return lookOnce(path, driver, look)
    } catch (error) {
      const waited = performance.now() - started
      if (!isBusy(error) || waited > PATIENCE_MS) throw mapError(error, path, waited)
      await delay(spread(backoffMs(BUSY, attempt)))
    }
  }
}

function lookOnce<T>(path: string, driver: SqliteDriver, look: (db: SqliteDatabase) => T): T {
  new IndexRoom(path).require()
  const db = driver.open(path, { readOnly: true })
  try {
    return look(db)
  } finally {
    db.close()
  }
}
