import { basename, dirname, resolve } from 'node:path'
import type { StoredSize, Tidemark } from 'tidemark'
import type { CheckedConfig } from '../config/config.ts'
import type { MeasuredIndexes } from '../databases/index-database.ts'
import { measureIndexes } from '../databases/open-index.ts'
import { sizeOfFiles } from '../databases/sqlite-file-sizes.ts'
import type { ManagedStorage } from '../storage/managed-storage.ts'
import { isS3 } from '../storage/s3/options.ts'
import { S3Storage } from '../storage/s3/s3-storage.ts'
import type { DiskPartStatus } from './disk-status.ts'
import { MeasuredTree } from './tree-size.ts'

export type PartSize = DiskPartStatus & { readonly files?: number }

/** A part of the pipeline that uses disk space. */
export type DiskPart = Pick<DiskPartStatus, 'name' | 'kind'> & {
  /** Its path, if it is on this machine. */
  readonly folder?: string
  measure(): Promise<StoredSize & { readonly files?: number }>
  close?(): Promise<void>
}

/** What is open already; undefined: not yet. */
type Opened = {
  topics(): Tidemark | undefined
  storage(name: string): ManagedStorage | undefined
}

/** Storages, indexes, topics and saved states. */
export function diskPartsOf(config: CheckedConfig, opened: Opened): DiskPart[] {
  const { storages, indexes, topics } = config.resources
  return [
    ...Object.entries(storages).map(([name, options]) =>
      isS3(options) ? bucket(name, () => opened.storage(name)) : tree(name, 'storage', options.root),
    ),
    ...Object.entries(indexes).map(([name, { address }]) => indexPart(name, address)),
    ...(topics === null ? [] : [topicsPart(topics.url, opened.topics)]),
    ...config.services.flatMap(({ name, enabled, options: { stateFolder } }) =>
      enabled && typeof stateFolder === 'string' ? [tree(name, 'states', stateFolder)] : [],
    ),
  ]
}

export function sumOf(parts: readonly PartSize[]): StoredSize {
  return parts.reduce(
    (sum, { bytes, reusableBytes }) => ({
      bytes: sum.bytes + bytes,
      reusableBytes: sum.reusableBytes + reusableBytes,
    }),
    { bytes: 0, reusableBytes: 0 },
  )
}

function tree(name: string, kind: 'storage' | 'states', path: string): DiskPart {
  const folder = resolve(path)
  const measured = new MeasuredTree(folder)
  return { name, kind, folder, measure: async () => ({ ...(await measured.measure()), reusableBytes: 0 }) }
}

/** It is on no disk of this machine, but counts towards the budget. */
function bucket(name: string, opened: () => ManagedStorage | undefined): DiskPart {
  return {
    name,
    kind: 'storage',
    measure: async () => {
      const storage = opened()
      const size = storage instanceof S3Storage ? await storage.size() : { bytes: 0, files: 0 }
      return { ...size, reusableBytes: 0 }
    },
  }
}

function indexPart(name: string, address: string): DiskPart {
  // Its engine is loaded at the first measurement.
  let opened: Promise<MeasuredIndexes> | undefined
  const indexes = (): Promise<MeasuredIndexes> => {
    opened ??= measureIndexes(address)
    return opened
  }
  return {
    name,
    kind: 'index',
    ...(address.startsWith('sqlite:') && { folder: resolve(address.slice('sqlite:'.length)) }),
    measure: async () => await (await indexes()).size(),
    close: async () => await (await opened)?.close(),
  }
}

/** Namespaces on SQLite are sibling files: `topics.db`, `topics.<namespace>.db`. */
function topicsPart(url: string, openTopics: () => Tidemark | undefined): DiskPart {
  if (!url.startsWith('sqlite:') || url === 'sqlite::memory:') {
    const nothing = { bytes: 0, reusableBytes: 0 }
    return { name: 'topics', kind: 'topics', measure: async () => (await openTopics()?.admin.size()) ?? nothing }
  }
  const path = resolve(url.slice('sqlite:'.length))
  const folder = dirname(path)
  const [stem = ''] = basename(path).split('.db')
  const isPart = (file: string): boolean => file.startsWith(`${stem}.`)
  return { name: 'topics', kind: 'topics', folder, measure: () => sizeOfFiles(folder, isPart) }
}
