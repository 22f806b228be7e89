import { resolve } from 'node:path'
import type { CheckedConfig } from './config.ts'
import type { OptionRule, OptionTable } from './option-table.ts'
import { INDEX_OPTIONS, STORAGE_OPTIONS, TOPICS_OPTIONS } from './resource-tables.ts'

type Options = { readonly [name: string]: unknown }

/**
 * Resolves a path, or an address such as `sqlite:<path>`, against a folder. Anything but a relative path stays as it
 * is.
 */
export function resolvePath(value: unknown, kind: OptionRule['path'], folder: string): unknown {
  if (typeof value !== 'string' || kind === undefined) return value
  if (kind === 'file') return value === '-' ? value : resolve(folder, value)
  const path = value.startsWith('sqlite:') ? value.slice('sqlite:'.length) : ':memory:'
  return path === ':memory:' ? value : `sqlite:${resolve(folder, path)}`
}

/** Paths in a configuration file are relative to the file, wherever it is run. */
export function withResolvedPaths(config: CheckedConfig, tableOf: (service: string) => OptionTable): CheckedConfig {
  const { folder } = config
  const { topics, storages, indexes } = config.resources
  return {
    ...config,
    resources: {
      ...config.resources,
      topics: topics && resolved(topics, TOPICS_OPTIONS, folder),
      // No option of a bucket is a path.
      storages: eachOf(storages, STORAGE_OPTIONS, folder),
      indexes: eachOf(indexes, INDEX_OPTIONS, folder),
    },
    services: config.services.map(service => ({
      ...service,
      options: resolved(service.options, tableOf(service.name), folder),
    })),
  }
}

function resolved<T extends Options>(options: T, table: OptionTable, folder: string): T {
  const entries = Object.entries(options).map(([name, value]) => [name, resolvePath(value, table[name]?.path, folder)])
  return Object.fromEntries(entries) as T
}

const eachOf = <T extends Options>(byName: { readonly [name: string]: T }, table: OptionTable, folder: string) =>
  Object.fromEntries(Object.entries(byName).map(([name, options]) => [name, resolved(options, table, folder)]))
