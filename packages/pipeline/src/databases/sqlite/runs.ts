import { existsSync, readdirSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { IndexFileAwayError } from '../errors.ts'
import type { IndexProbe, IndexSettings } from '../index-database.ts'
import { IndexMeter } from '../index-meter.ts'
import { indexName, runOfIndex } from '../index-name.ts'
import { isBusy, mapError } from './engine-errors.ts'
import { requireInside } from './inside.ts'
import { DatabaseSync } from './node-sqlite.ts'

const EXTENSION = '.db'

export function pathOf(address: string, runId: string): string {
  return join(folderOf(address), indexName(runId) + EXTENSION)
}

export async function listRuns(address: string): Promise<string[]> {
  const folder = folderOf(address)
  try {
    const names = existsSync(folder) ? readdirSync(folder) : []
    const runs = names
      .filter(name => name.endsWith(EXTENSION))
      .map(name => runOfIndex(name.slice(0, -EXTENSION.length)))
    return runs.filter(run => run !== undefined).sort()
  } catch (error) {
    throw mapError(error, folder)
  }
}

/** The folder is created with its first index; from then on it must exist. */
export function probeFolder(address: string): IndexProbe {
  const folder = folderOf(address)
  const meter = new IndexMeter()
  let wasThere = false
  return {
    metrics: () => meter.snapshot(),
    async look() {
      try {
        await meter.read(() => stat(folder))
        wasThere = true
      } catch (error) {
        if (wasThere) throw new IndexFileAwayError(folder, error)
      }
    },
    async close() {},
  }
}

export async function dropRun(address: string, runId: string, { busyTimeoutMs }: IndexSettings): Promise<boolean> {
  const path = pathOf(address, runId)
  requireInside(path)
  if (!existsSync(path)) return false
  const started = performance.now()
  while (!isLastUser(path, performance.now() - started, busyTimeoutMs)) await delay(10 + 10 * Math.random())
  rmSync(path, { force: true })
  return true
}

/** A file that is not open is not changed, except that its write-ahead log is merged into it. */
export async function isInUse(address: string, runId: string): Promise<boolean> {
  const path = pathOf(address, runId)
  return existsSync(path) && !isLastUser(path, 0, 1)
}

/**
 * Leaving WAL mode requires exclusive access and removes the -wal and -shm files. If the file were deleted while a
 * process has it open, that process would continue to write to a deleted file.
 */
function isLastUser(path: string, waitedMs: number, busyTimeoutMs: number): boolean {
  try {
    using db = new DatabaseSync(path, { timeout: 0 })
    db.exec('pragma journal_mode = delete')
    return true
  } catch (error) {
    if (isBusy(error) && waitedMs < busyTimeoutMs) return false
    throw mapError(error, path, waitedMs)
  }
}

export const folderOf = (address: string): string => resolve(address.slice('sqlite:'.length))
