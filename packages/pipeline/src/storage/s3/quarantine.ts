/**
 * {runId}/quarantine/{file name}.{when it was stored}-{start of its ETag} and, beside it, {the same}.reason.json. Objects can't be moved, so
 * it is three steps, each of which can be repeated:
 *
 *   reason (If-None-Match) ─▶ copy (if it is still that version) ─▶ delete
 *
 * Only who wrote the reason deletes, because a correct object may take the place of the broken one as soon as it is
 * gone. Others wait for it; if that process died, they finish the work after a minute.
 */
import { basename } from 'node:path/posix'
import { setTimeout as sleep } from 'node:timers/promises'
import { FileNotFoundError, StorageError } from '../errors.ts'
import { runIdOfKey } from '../keys.ts'
import type { QuarantinedFile } from '../storage.ts'
import type { S3Client } from './client.ts'
import { type Head, headOf, listObjects, putNew, remove } from './objects.ts'

const REASON = '.reason.json'
/** Who takes longer is taken for dead. */
const TAKE_OVER_MS = 60_000
const LOOK_MS = 500

type Reason = Pick<QuarantinedFile, 'key' | 'reason' | 'quarantinedAt'>

export async function quarantineObject(client: S3Client, key: string, reason: string): Promise<QuarantinedFile> {
  const runId = runIdOfKey(key)
  const head = await headOf(client, key)
  if (head === undefined) throw new FileNotFoundError(key)
  const target = `${runId}/quarantine/${basename(key)}.${versionOf(head)}`
  const record: Reason = { key, reason, quarantinedAt: client.now() }
  const body = Buffer.from(`${JSON.stringify(record, null, 2)}\n`)
  const isFirst = await putNew(client, `${target}${REASON}`, body)
  await copy(client, key, target, head.etag)
  while (await isStill(client, key, head)) {
    // Servers without conditional deletes ignore the condition.
    const isOurs = isFirst || (await isAbandoned(client, `${target}${REASON}`))
    if (isOurs) await remove(client, key, { 'if-match': head.etag })
    else await sleep(LOOK_MS)
  }
  return { ...record, path: client.nameOf(target) }
}

export async function listQuarantined(client: S3Client, runId: string): Promise<QuarantinedFile[]> {
  const found: QuarantinedFile[] = []
  for await (const { key } of listObjects(client, `${runId}/quarantine/`)) {
    if (!key.endsWith(REASON)) found.push(await readReason(client, key))
  }
  return found.sort((a, b) => a.quarantinedAt - b.quarantinedAt)
}

/** 412 or 404: somebody else has moved it. The copy, if there is one, has the same content. */
async function copy(client: S3Client, key: string, target: string, etag: string): Promise<void> {
  const source = `/${client.place.bucket}/${client.place.prefix}${key}`
  await client.send({
    method: 'PUT',
    key: target,
    headers: { 'x-amz-copy-source': source, 'x-amz-copy-source-if-match': etag },
    understands: [404, 412],
  })
}

async function isStill(client: S3Client, key: string, { etag, writtenAt }: Head): Promise<boolean> {
  const now = await headOf(client, key)
  return now !== undefined && now.etag === etag && now.writtenAt === writtenAt
}

/** The same key can be quarantined repeatedly. */
function versionOf({ etag, writtenAt }: Head): string {
  const time = new Date(writtenAt).toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
  return `${time}-${etag.replaceAll(/[^0-9a-z]/gi, '').slice(0, 8)}`
}

async function isAbandoned(client: S3Client, reasonKey: string): Promise<boolean> {
  const head = await headOf(client, reasonKey)
  return head !== undefined && client.now() - head.writtenAt > TAKE_OVER_MS
}

async function readReason(client: S3Client, key: string): Promise<QuarantinedFile> {
  const path = client.nameOf(key)
  const { status, body } = await client.send({ method: 'GET', key: `${key}${REASON}`, understands: [404] })
  try {
    if (status === 404) throw new Error('it has none')
    return { ...(JSON.parse(body.toString()) as Reason), path }
  } catch (error) {
    throw new StorageError('Reading the reason of', path, error)
  }
}
