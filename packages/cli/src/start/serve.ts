import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { contractsRegistry } from '@tidemark/pipeline'
import { open } from 'tidemark'
import type { Surroundings } from '../command.ts'
import { type DatabaseChoice, requireNamespace } from '../database.ts'
import { NotFoundError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { dataFolderOf } from '../runs/data-folder.ts'
import { loggerFor, openServer, serverChoice } from './open-server.ts'

type Served = {
  readonly database: DatabaseChoice | undefined
  readonly indexes: string | undefined
  /** Folder of the audit, unless another place was given. */
  readonly folder: string | undefined
}

/** Ctrl-C is the normal way to end it. */
export async function serveAlone(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const { output, interrupted } = surroundings
  const choice = serverChoice(given, surroundings)
  const { database, indexes, folder } = servedBy(given, surroundings)
  const logger = loggerFor(choice, surroundings)
  if (database) await requireNamespace(database)
  const { url: address, ...options } = { url: '', ...database, registry: contractsRegistry, logger }
  await using topics = database && (await open(address, options))
  await using server = await openServer(
    choice,
    { logger, ...(topics && { topics }), ...(indexes && { indexes }) },
    folder,
  )
  const { url } = server
  output.next({ event: 'serving', url }, () => `serving ${output.paint('cyan', url)}; press Ctrl-C to stop`)
  if (!interrupted.aborted) await new Promise(resolve => interrupted.addEventListener('abort', resolve, { once: true }))
  return EXIT.done
}

function servedBy(given: Given, { environment }: Surroundings): Served {
  const url = given.text('database') ?? environment.TIDEMARK_DATABASE
  const index = given.text('index') ?? environment.TIDEMARK_INDEX
  const namespace = given.text('namespace') ?? 'default'
  if (url || index !== undefined) {
    return { database: url ? { url, namespace } : undefined, indexes: index, folder: undefined }
  }
  const folder = dataFolderOf(given)
  const topics = join(folder, 'topics.db')
  if (!existsSync(topics)) {
    throw new NotFoundError(
      `Folder ${folder} has no topics.db, so there is nothing to serve. Give --database, --index or --data`,
    )
  }
  return { database: { url: `sqlite:${topics}`, namespace }, indexes: `sqlite:${join(folder, 'index')}`, folder }
}
