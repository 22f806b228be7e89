import { basename, dirname } from 'node:path'
import type { MeasuredIndexes } from '../index-database.ts'
import { sizeOfFiles } from '../sqlite-file-sizes.ts'
import { folderOf } from './runs.ts'

export function measureFolder(address: string): MeasuredIndexes {
  const folder = folderOf(address)
  return { size: () => sizeOfFiles(folder), close: async () => undefined }
}

/** One file with its logs. */
export async function sizeOfIndex(path: string): Promise<number> {
  return (await sizeOfFiles(dirname(path), name => name.startsWith(basename(path)))).bytes
}
