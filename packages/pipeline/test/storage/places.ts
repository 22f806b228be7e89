/** The storages on which the same tests run: a folder, and a bucket of a real S3 server. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isFast } from '../../../../testing/fast.ts'
import { temporaryFolder } from '../../../../testing/folders.ts'
import {
  makeBucket,
  type ObjectStoreAddress,
  sharedObjectStore,
  skipWithoutRadosgw,
} from '../../../../testing/radosgw.ts'
import { FileSystemStorage, type ManagedStorage, S3Storage, type S3StorageOptions } from '../../src/index.ts'
import { requestTo } from '../s3/requests.ts'

/** A place for storages, which sees and changes what is stored behind their backs. */
export type Place = AsyncDisposable & {
  open(options?: { readonly level?: number }): Promise<ManagedStorage>
  read(key: string): Promise<Buffer | undefined>
  write(key: string, content: Uint8Array | string): Promise<void>
  remove(key: string): Promise<void>
  /** What errors and quarantined files call the file. */
  pathOf(key: string): string
  /** Content of a quarantined file. */
  readPath(path: string): Promise<Buffer | undefined>
}

export type Kind = {
  readonly name: string
  /** Why it can't be tested here. */
  readonly skip: string | false
  make(): Promise<Place>
}

export const PLACES: readonly Kind[] = [
  { name: 'a folder', skip: false, make: async () => inFolder() },
  { name: 'S3', skip: isFast ? 'left out of test:fast' : skipWithoutRadosgw(), make: async () => await inBucket() },
]

function inFolder(): Place {
  const folder = temporaryFolder()
  const pathOf = (key: string): string => join(folder.path, key)
  const readPath = async (path: string) => (existsSync(path) ? readFileSync(path) : undefined)
  return {
    open: async options => await FileSystemStorage.open({ root: folder.path, ...options }),
    read: async key => await readPath(pathOf(key)),
    write: async (key, content) => {
      mkdirSync(dirname(pathOf(key)), { recursive: true })
      writeFileSync(pathOf(key), content)
    },
    remove: async key => (await import('node:fs')).rmSync(pathOf(key)),
    pathOf,
    readPath,
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

/** Options of a storage of its own in the bucket that all tests share. */
export async function s3Options(address?: ObjectStoreAddress): Promise<S3StorageOptions> {
  const { endpoint, accessKeyId, secretAccessKey } = address ?? (await sharedObjectStore())
  const credentials = () => ({ accessKeyId, secretAccessKey })
  return { bucket: 'tidemark', endpoint, prefix: `test/${randomUUID()}`, credentials }
}

async function inBucket(): Promise<Place> {
  const options = await s3Options()
  const name = `s3://${options.bucket}/${options.prefix}`
  await makeBucket(await sharedObjectStore(), options.bucket)
  const at = (key: string): string => `${options.prefix}/${key}`
  const read = async (key: string): Promise<Buffer | undefined> => {
    const { status, body } = await requestTo(options, { method: 'GET', url: at(key) })
    return status === 200 ? body : undefined
  }
  return {
    open: async more => await S3Storage.open({ ...options, ...more }),
    read,
    write: async (key, content) => {
      await requestTo(options, { method: 'PUT', url: at(key), body: Buffer.from(content) })
    },
    remove: async key => {
      await requestTo(options, { method: 'DELETE', url: at(key) })
    },
    pathOf: key => `${name}/${key}`,
    readPath: async path => await read(path.slice(name.length + 1)),
    [Symbol.asyncDispose]: async () => {},
  }
}
