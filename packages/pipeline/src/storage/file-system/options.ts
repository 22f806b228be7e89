import { ConfigError } from 'tidemark'
import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import { wholeNumber } from '../../options.ts'
import type { CompressionSetting } from '../container/write-container.ts'
import type { Compression } from '../keys.ts'

export type FileSystemStorageOptions = {
  /** The folder; it is made if it isn't there. */
  readonly root: string
  /** Of what is written; what is read tells itself. zstd if not said. */
  readonly compression?: Compression
  /** 1 to 19; 3 if not said. */
  readonly level?: number
  /** A single tick's bytes, at most; 64 MiB if not said. */
  readonly maxTickBytes?: number
  /** What a file may decompress to, at most; 4 GiB if not said. */
  readonly maxFileBytes?: number
  /** What `readBatch` takes into memory, at most; 512 MiB if not said. */
  readonly maxBatchBytes?: number
  /** What those who read the same batch at about the same time share in memory, at most; 0, nothing, if not said. */
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
