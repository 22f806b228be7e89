/**
 * {runId}/quarantine/{file name} and, beside it, {file name}.reason.json. The reason is written first: a file in
 * quarantine always has one, and a reason without its file is a move that did not happen.
 */
import { readdir, readFile, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CodedError } from 'tidemark'
import { FileNotFoundError, StorageError } from '../errors.ts'
import { runIdOfKey } from '../keys.ts'
import type { QuarantinedFile } from '../storage.ts'
import { IncomingFile, syncFolder } from './durable-file.ts'
import type { SafePaths } from './safe-paths.ts'

const REASON = '.reason.json'

type Reason = Pick<QuarantinedFile, 'key' | 'reason' | 'quarantinedAt'>

export async function quarantineFile(paths: SafePaths, key: string, reason: string): Promise<QuarantinedFile> {
  const runId = runIdOfKey(key)
  const source = await paths.existing(key)
  if (source === undefined) throw new FileNotFoundError(key)
  const record: Reason = { key, reason, quarantinedAt: Date.now() }
  try {
    const folder = await paths.makeFolder(`${runId}/quarantine`)
    const name = await freeName(folder, basename(key))
    await using file = await IncomingFile.create(paths.incoming, join(folder, `${name}${REASON}`))
    await file.write(Buffer.from(`${JSON.stringify(record, null, 2)}\n`))
    await file.place(folder, `${name}${REASON}`)
    await rename(source, join(folder, name))
    await syncFolder(folder)
    await syncFolder(dirname(source))
    return { ...record, path: join(folder, name) }
  } catch (error) {
    throw error instanceof CodedError ? error : new StorageError('Moving to quarantine', key, error)
  }
}

export async function listQuarantined(paths: SafePaths, runId: string): Promise<QuarantinedFile[]> {
  const folder = await paths.existing(`${runId}/quarantine`)
  if (folder === undefined) return []
  const names = (await readdir(folder)).sort()
  const files = names.filter(name => !name.endsWith(REASON))
  return await Promise.all(files.map(name => readReason(folder, name)))
}

async function readReason(folder: string, name: string): Promise<QuarantinedFile> {
  const path = join(folder, name)
  try {
    return { ...(JSON.parse(await readFile(`${path}${REASON}`, 'utf8')) as Reason), path }
  } catch (error) {
    throw new StorageError('Reading the reason of', path, error)
  }
}

/** The same file name can be quarantined repeatedly. */
async function freeName(folder: string, name: string): Promise<string> {
  const taken = new Set(await readdir(folder))
  if (!taken.has(name)) return name
  for (let number = 2; ; number++) if (!taken.has(`${name}.${number}`)) return `${name}.${number}`
}
