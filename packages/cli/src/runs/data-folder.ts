import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { FileSystemStorage, type Storage } from '@tidemark/pipeline'
import { NotFoundError } from '../errors.ts'
import type { Given } from '../given.ts'

export const dataFolderOf = (given: Given): string => given.text('data') ?? './data'

/** Opening would create the folder, and find it empty. */
export async function openStorage(given: Given): Promise<Storage> {
  const root = join(dataFolderOf(given), 'storage')
  if (!existsSync(root)) throw new NotFoundError(`Folder ${root} does not exist. Give the data folder with --data`)
  return await FileSystemStorage.open({ root })
}

export const indexAddressOf = (given: Given): string =>
  given.text('index') ?? `sqlite:${join(dataFolderOf(given), 'index')}`
