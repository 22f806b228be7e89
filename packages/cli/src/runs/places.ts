import { placesOf, placesOfFolder, type RunPlaces, readConfig } from '@tidemark/pipeline'
import type { Given } from '../given.ts'
import { configFileOf } from '../start/config-choice.ts'
import { dataFolderOf } from './data-folder.ts'

/** Where the runs are: as a configuration says, or in the data folder. */
export async function runPlaces(given: Given, environment: NodeJS.ProcessEnv): Promise<RunPlaces> {
  const file = configFileOf(given)
  return file === undefined
    ? await placesOfFolder(dataFolderOf(given), environment)
    : placesOf(await readConfig(file, { environment }))
}
