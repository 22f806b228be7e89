import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { type Logger, open, schemaVersions, type Tidemark } from 'tidemark'
import { contractsRegistry } from '../contracts/notifications.ts'
import { dropIndex, listIndexedRuns } from '../databases/open-index.ts'
import { requireRunId } from '../run-id.ts'
import { runOfTopic } from '../services/notification-topics.ts'
import { openExistingStorage, storageName } from '../storage/open-storage.ts'
import { RunInUseError } from './errors.ts'
import { countLetters, removeLetters } from './run-letters.ts'
import { type RunLocations, stateOfRun } from './run-locations.ts'
import { usersOf } from './run-users.ts'

/** Data of a run. */
export type RunParts = {
  /** Id of the run. */
  readonly runId: string
  /** Folders and buckets with its files, with their number and size. */
  readonly files: readonly { readonly root: string; readonly files: number; readonly bytes: number }[]
  /** Topics of the run, with their messages and groups. */
  readonly topics: readonly { readonly topic: string; readonly messages: number; readonly groups: readonly string[] }[]
  /** Addresses of its indexes. */
  readonly indexes: readonly string[]
  /** Folders with saved states. */
  readonly states: readonly string[]
  /** Number of its dead letters. */
  readonly deadLetters: number
  /** Reasons why it can't be removed now. */
  readonly inUse: readonly string[]
}

type RunOptions = { readonly logger?: Logger }

/**
 * Lists the data of a run. Changes nothing.
 *
 * @example
 * const { files, inUse } = await findRun(await locationsOfFolder('./data'), run)
 */
export async function findRun(locations: RunLocations, runId: string, options: RunOptions = {}): Promise<RunParts> {
  requireRunId(runId)
  await using topics = await openTopics(locations, options)
  return await partsOf(locations, runId, topics)
}

/**
 * Removes index, files, saved states, topics with their groups, and dead letters of a run. If it is interrupted,
 * call it again.
 *
 * @example
 * await removeRun(await locationsOfFolder('./data'), run)
 */
export async function removeRun(locations: RunLocations, runId: string, options: RunOptions = {}): Promise<RunParts> {
  requireRunId(runId)
  await using topics = await openTopics(locations, options)
  const parts = await partsOf(locations, runId, topics)
  if (parts.inUse.length > 0) throw new RunInUseError(runId, parts.inUse)
  // First what may be refused; topics last, so that a reconciler that still sees the files announces them to nobody.
  for (const address of parts.indexes) await dropIndex(address, runId, { busyTimeout: '2s' })
  for (const options of locations.storages) await (await openExistingStorage([options]))?.removeRun(runId)
  for (const folder of parts.states) await rm(folder, { recursive: true, force: true })
  if (topics !== null) {
    for (const { topic } of parts.topics) await topics.admin.deleteTopic(topic)
    for (const topic of await lettersIn(topics, locations)) await removeLetters(topics, topic, runId)
  }
  return parts
}

async function partsOf(locations: RunLocations, runId: string, topics: Tidemark | null): Promise<RunParts> {
  const ofRun = topics === null ? [] : await topicsOf(topics, runId)
  const names = ofRun.map(({ topic }) => topic)
  return {
    runId,
    files: await filesOf(locations, runId),
    topics: ofRun,
    indexes: await indexesOf(locations, runId),
    states: locations.stateFolders.map(folder => stateOfRun(folder, runId)).filter(folder => existsSync(folder)),
    deadLetters: topics === null ? 0 : await lettersOf(topics, locations, runId),
    inUse: await usersOf(locations, runId, topics, names),
  }
}

/** A query must not create a database. */
async function openTopics({ topics }: RunLocations, { logger }: RunOptions): Promise<Tidemark | null> {
  if (topics === null) return null
  const { url, namespace } = topics
  if ((await schemaVersions(url, { namespace })).found === 0) return null
  const common = { namespace, registry: contractsRegistry, maintenance: false, autoCreate: false } as const
  return await open(url, { ...common, ...(logger && { logger }) })
}

async function topicsOf({ admin }: Tidemark, runId: string): Promise<RunParts['topics']> {
  const names = (await admin.topics()).map(({ topic }) => topic).filter(topic => runOfTopic(topic) === runId)
  const described = names.map(async topic => {
    const { messagesPublished, groups } = await admin.describeTopic(topic)
    return { topic, messages: messagesPublished, groups: groups.map(({ group }) => group) }
  })
  return await Promise.all(described)
}

async function filesOf({ storages }: RunLocations, runId: string): Promise<RunParts['files']> {
  const found = []
  for (const options of storages) {
    const storage = await openExistingStorage([options])
    const size = (await storage?.sizeOfRun(runId)) ?? null
    if (size !== null) found.push({ root: storageName(options), ...size })
  }
  return found
}

async function indexesOf({ indexes }: RunLocations, runId: string): Promise<string[]> {
  const found = []
  for (const address of indexes) if ((await listIndexedRuns(address)).includes(runId)) found.push(address)
  return found
}

async function lettersIn({ admin }: Tidemark, { letterTopics }: RunLocations): Promise<string[]> {
  const topics = (await admin.topics()).map(({ topic }) => topic)
  return letterTopics.filter(topic => topics.includes(topic))
}

async function lettersOf(topics: Tidemark, locations: RunLocations, runId: string): Promise<number> {
  let count = 0
  for (const topic of await lettersIn(topics, locations)) count += await countLetters(topics, topic, runId)
  return count
}
