import { existsSync } from 'node:fs'
import { FileSystemStorage } from './file-system/file-system-storage.ts'
import type { FileSystemStorageOptions } from './file-system/options.ts'
import type { ManagedStorage } from './managed-storage.ts'
import { isS3, type S3StorageOptions } from './s3/options.ts'
import { S3Storage } from './s3/s3-storage.ts'

/** A storage of a configuration: in a folder, or in a bucket. */
export type StorageOptions = FileSystemStorageOptions | S3StorageOptions

/**
 * Opens a storage of a configuration. A folder is created if necessary; a bucket must exist.
 *
 * @example
 * const storage = await openStorage({ root: './data/storage' })
 */
export async function openStorage(options: StorageOptions): Promise<ManagedStorage> {
  return isS3(options)
    ? await S3Storage.open(options)
    : await FileSystemStorage.open(options as FileSystemStorageOptions)
}

/**
 * Opens the first storage that exists, or returns null. Nothing is created.
 *
 * @example
 * const storage = await openExistingStorage([{ root: './data/storage' }])
 */
export async function openExistingStorage(all: readonly StorageOptions[]): Promise<ManagedStorage | null> {
  for (const options of all) {
    const found = await openIfThere(options)
    if (found !== null) return found
  }
  return null
}

async function openIfThere(options: StorageOptions): Promise<ManagedStorage | null> {
  if (isS3(options)) return await S3Storage.openExisting(options)
  const folder = options as FileSystemStorageOptions
  return existsSync(folder.root) ? await FileSystemStorage.open(folder) : null
}

/**
 * Name of a storage for people: the path of its folder, or `s3://bucket/prefix`.
 *
 * @example
 * console.log(storageName({ bucket: 'ticks', prefix: 'production' })) // s3://ticks/production
 */
export function storageName(options: StorageOptions): string {
  if (!isS3(options)) return (options as FileSystemStorageOptions).root
  return ['s3:/', options.bucket, options.prefix].filter(part => part !== undefined).join('/')
}
