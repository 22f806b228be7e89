import { accessSync, constants, existsSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf } from '../../errors/failure.ts'
import { bad, type Finding, ok, preReleaseFinding, schemaFinding, warn } from '../finding.ts'
import type { Diagnosis } from '../operator.ts'
import type { SqliteDatabase, SqliteDriver } from './driver.ts'
import { integrityProblems } from './integrity.ts'
import { appliedMigrations, isOfPreRelease, newestVersion } from './migrate.ts'
import { readOnly } from './read-only.ts'
import { isAtLeast, OLDEST_SQLITE } from './sqlite-version.ts'

const MB = 1e6
const LOW_DISK = 1_000 * MB
const NO_DISK = 50 * MB
const LONG_WAL = 1_000 * MB

/** Inspects the file and its contents without writing. */
export async function diagnose(path: string, driver: SqliteDriver): Promise<Diagnosis> {
  const findings = [...fileFindings(path), diskFinding(path)]
  if (findings.some(({ state }) => state === 'bad')) return { findings, usable: false }
  try {
    const inside = await readOnly(path, driver, db => lookInside(db, path, driver))
    findings.push(...inside.findings)
    return { findings, usable: inside.isNewest && !findings.some(({ state }) => state === 'bad') }
  } catch (error) {
    findings.push(bad('integrity', reasonOf(error), 'restore the file from a backup, or name another one'))
    return { findings, usable: false }
  }
}

function lookInside(
  db: SqliteDatabase,
  path: string,
  driver: SqliteDriver,
): { findings: Finding[]; isNewest: boolean } {
  const applied = appliedMigrations(sql => db.prepare(sql))
  const version = applied.at(-1)?.version ?? 0
  const schema = isOfPreRelease(applied) ? preReleaseFinding() : schemaFinding(version, newestVersion())
  const findings = [...sqliteFindings(db, path, driver), schema, integrity(db)]
  return { findings, isNewest: version === newestVersion() }
}

function fileFindings(path: string): Finding[] {
  const folder = dirname(path)
  if (!existsSync(path)) {
    const advice = existsSync(folder)
      ? "make it with 'tidemark migrate', or correct the address"
      : 'correct the address'
    return [bad('file', `there is no ${path}`, advice)]
  }
  const rights = constants.R_OK | constants.W_OK
  return [
    may(path, rights)
      ? ok('file', `${path}, ${(statSync(path).size / MB).toFixed(1)} MB`)
      : bad('file', `${path} can't be read and written`, 'give this user the right to'),
    may(folder, rights | constants.X_OK)
      ? ok('folder', `${folder} can be written to`)
      : bad(
          'folder',
          `${folder} can't be written to`,
          'give this user the right to: SQLite keeps its log beside the file',
        ),
  ]
}

function diskFinding(path: string): Finding {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    const free = bavail * bsize
    const found = `${(free / MB).toFixed(0)} MB free`
    if (free < NO_DISK) return bad('disk', found, 'free some: a publish that finds none fails')
    return free < LOW_DISK ? warn('disk', found, 'free some before it runs out') : ok('disk', found)
  } catch (error) {
    return warn('disk', (error as Error).message, 'see whether the folder exists')
  }
}

/** An older SQLite is harmless without a write-ahead log. */
function sqliteFindings(db: SqliteDatabase, path: string, { name, olderSqlite }: SqliteDriver): Finding[] {
  const { version } = db.prepare('select sqlite_version() as version').get() as { version: string }
  const { journal_mode: mode } = db.prepare('pragma journal_mode').get() as { journal_mode: string }
  if (isAtLeast(version, OLDEST_SQLITE)) return [ok('SQLite version', version), journalFinding(mode, path)]
  if (olderSqlite === 'rollback-journal' && mode !== 'wal') {
    return [ok('SQLite version', `${version} of ${name}`), ok('journal', mode)]
  }
  const advice = name === 'node:sqlite' ? 'update Node' : `update ${name}`
  const isOld = bad('SQLite version', `${version} has a bug that can corrupt a database`, advice)
  return [isOld, journalFinding(mode, path)]
}

function journalFinding(mode: string, path: string): Finding {
  if (mode !== 'wal')
    return warn('journal', `${mode}, not wal`, 'opening it selects wal where the file system can do that')
  const log = `${realpathSync(path)}-wal`
  const size = existsSync(log) ? statSync(log).size : 0
  const found = `wal, ${(size / MB).toFixed(1)} MB`
  if (size < LONG_WAL) return ok('journal', found)
  return warn('journal', found, 'a reader holds it: end the process whose transaction has been open for long')
}

function integrity(db: SqliteDatabase): Finding {
  const [first, ...more] = integrityProblems(sql => db.prepare(sql), 'quick_check')
  if (first === undefined) return ok('integrity', 'the quick check finds nothing')
  const found = more.length === 0 ? first : `${first} (and ${more.length} more)`
  return bad('integrity', found, "keep a copy, and try 'tidemark repair'; else restore the file from a backup")
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
