import { ConfigError } from 'tidemark'
import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import { wholeNumber } from '../../options.ts'
import type { CompressionSetting } from '../container/write-container.ts'
import type { Compression } from '../keys.ts'

/** Options of a FileSystemStorage. */
export type FileSystemStorageOptions = {
  /** Path of the folder. It is created if necessary. */
  readonly root: string
  /** Compression of new files (default 'zstd'). Existing files are detected. */
  readonly compression?: Compression
  /** zstd compression level, 1 to 19 (default 3). */
  readonly level?: number
  /** Maximum bytes of a tick (default 64 MiB). */
  readonly maxTickBytes?: number
  /** Maximum decompressed bytes of a file (default 4 GiB). */
  readonly maxFileBytes?: number
  /** Maximum bytes that `readBatch` reads into memory (default 512 MiB). */
  readonly maxBatchBytes?: number
  /** Maximum bytes shared by concurrent readers of the same batch (default 0: not shared). */
  readonly sharedReadBytes?: number
}

export type StorageSettings = CompressionSetting & {
  readonly root: string
  readonly maxTickBytes: number
  readonly maxFileBytes: number
  readonly maxBatchBytes: number
  readonly sharedReadBytes: number
}

const DEFAULTS = {
  compression: 'zstd',
  level: 3,
  maxTickBytes: DEFAULT_LIMITS.maxTickBytes,
  maxFileBytes: 4 * 1024 ** 3,
  maxBatchBytes: 512 * 1024 ** 2,
  sharedReadBytes: 0,
} as const

export function readOptions(options: FileSystemStorageOptions): StorageSettings {
  for (const name of Object.keys(options)) {
    if (name === 'root' || name in DEFAULTS) continue
    const allowed = `one of ${['root', ...Object.keys(DEFAULTS)].join(', ')}`
    throw new ConfigError(`storage.${name}`, (options as Record<string, unknown>)[name], allowed)
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const settings: StorageSettings = { ...DEFAULTS, ...(Object.fromEntries(given) as FileSystemStorageOptions) }
  if (typeof settings.root !== 'string' || settings.root === '') {
    throw new ConfigError('storage.root', settings.root, 'the path of a folder')
  }
  if (!['none', 'zstd'].includes(settings.compression)) {
    throw new ConfigError('storage.compression', settings.compression, "'none' or 'zstd'")
  }
  wholeNumber('storage.level', settings.level, { min: 1, max: 19 })
  wholeNumber('storage.maxTickBytes', settings.maxTickBytes, { min: 1, max: 2 ** 31 - 1 })
  wholeNumber('storage.maxFileBytes', settings.maxFileBytes, { min: 1 })
  wholeNumber('storage.maxBatchBytes', settings.maxBatchBytes, { min: 1 })
  wholeNumber('storage.sharedReadBytes', settings.sharedReadBytes, { min: 0 })
  return settings
}
