import { locationsOf, locationsOfFolder, type RunLocations, readConfig } from '@tidemark/pipeline'
import type { Given } from '../given.ts'
import { configFileOf } from '../start/config-choice.ts'
import { dataFolderOf } from './data-folder.ts'

/** Where the runs are: according to a configuration, or in the data folder. */
export async function runLocations(given: Given, environment: NodeJS.ProcessEnv): Promise<RunLocations> {
  const file = configFileOf(given)
  return file === undefined
    ? await locationsOfFolder(dataFolderOf(given), environment)
    : locationsOf(await readConfig(file, { environment }))
}
