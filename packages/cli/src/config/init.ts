import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CONFIG_TEMPLATE, findConfig } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { ConfigExistsError, NotFoundError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'

export async function initConfig(given: Given, { output }: Surroundings): Promise<ExitCode> {
  const named = given.text('config')
  const file = named ?? 'tidemark.config.ts'
  // 'tidemark start' would use the other file.
  const found = named === undefined ? findConfig() : undefined
  if (found !== undefined) throw new ConfigExistsError(found)
  await write(file)
  output.result({ config: file, written: true }, () => [`${file} written. Run it with 'tidemark start'`])
  return EXIT.done
}

async function write(file: string): Promise<void> {
  try {
    await writeFile(file, CONFIG_TEMPLATE, { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new ConfigExistsError(file)
    if (code === 'ENOENT') throw new NotFoundError(`There is no folder ${dirname(file)} for ${file}. Create it first`)
    if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') {
      throw new NotFoundError(`${file} can't be written: no permission for its folder (${code})`)
    }
    throw error
  }
}
