import { join } from 'node:path'
import { checkConfig } from '../config/check-config.ts'
import { withTypes } from '../config/check-whole.ts'
import { defaultConfig } from '../config/default-config.ts'
import { withOverrides } from '../config/environment-overrides.ts'
import type { WholeConfig } from '../config/whole-config.ts'
import { type StorageOptions, storageName } from '../storage/open-storage.ts'

/** Where a pipeline stores its runs. */
export type RunLocations = {
  /** Database of the topics, or null. */
  readonly topics: { readonly url: string; readonly namespace: string } | null
  /** Storages of batch files. */
  readonly storages: readonly StorageOptions[]
  /** Addresses of indexes. */
  readonly indexes: readonly string[]
  /** Folders of saved states, with a folder for each run. */
  readonly stateFolders: readonly string[]
  /** Topics with dead letters of all runs. */
  readonly letterTopics: readonly string[]
}

/**
 * Locations of a configuration.
 *
 * @example
 * const locations = locationsOf(await readConfig('tidemark.config.ts'))
 */
export function locationsOf({ config, types }: WholeConfig): RunLocations {
  const { topics, storages, indexes } = config.resources
  const letters = config.services.flatMap(({ name, bindings }) =>
    Object.entries(bindings).flatMap(([binding, { kind, name: topic }]) => {
      const rule = types.get(name)?.bindings[binding]
      return kind === 'topic-write' && rule?.unread && !rule.perRun ? [topic] : []
    }),
  )
  return {
    topics: topics && { url: topics.url, namespace: topics.namespace },
    storages: Object.values(storages).filter((each, index, all) => index === all.findIndex(isSamePlace(each))),
    indexes: unique(Object.values(indexes).map(({ address }) => address)),
    stateFolders: unique(
      config.services.filter(({ type }) => type === 'simulation').map(({ options }) => String(options.stateFolder)),
    ),
    letterTopics: unique(letters),
  }
}

/**
 * Locations of the default pipeline, with the settings of the environment.
 *
 * @example
 * const { storages } = await locationsOfFolder('./data')
 */
export async function locationsOfFolder(dataFolder: string, environment = process.env): Promise<RunLocations> {
  const config = withOverrides(defaultConfig({ dataFolder }), environment)
  return locationsOf(await withTypes(checkConfig(config, process.cwd())))
}

export const stateOfRun = (folder: string, runId: string): string => join(folder, runId)

const isSamePlace = (one: StorageOptions) => (other: StorageOptions) => storageName(one) === storageName(other)

const unique = (values: readonly string[]): string[] => [...new Set(values)]
