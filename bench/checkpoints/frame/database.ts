import { join } from 'node:path'
import { temporaryFolder } from '../../../testing/folders.ts'
import { startPostgres } from '../../../testing/postgres-server.ts'
import type { EngineName } from '../../suite.ts'

/** A database of its own for one run. */
export type CheckpointDatabase = AsyncDisposable & {
  readonly engine: EngineName
  readonly url: string
  /** On the disk: where its files are. */
  readonly folder: string
}

export type DatabaseOptions = {
  /** PostgreSQL only: settings as 'name=value'. */
  readonly settings?: readonly string[]
}

/** On the disk, with fsync on: what is measured is what is durable. */
export async function openDatabase(engine: EngineName, options: DatabaseOptions = {}): Promise<CheckpointDatabase> {
  if (engine === 'sqlite') {
    const folder = temporaryFolder()
    const url = `sqlite:${join(folder.path, 'checkpoint.db')}`
    return { engine, url, folder: folder.path, [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() }
  }
  const server = await startPostgres({ durable: true, settings: ['shared_buffers=256MB', ...(options.settings ?? [])] })
  return {
    engine,
    url: server.url,
    folder: server.dataDir,
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  }
}
