import { inspect } from 'node:util'
import { readConfig, shownConfig } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { requiredConfig } from './config-file.ts'

const WIDTH = 120

export async function printConfiguration(given: Given, { output, environment }: Surroundings): Promise<ExitCode> {
  const file = requiredConfig(given)
  const shown = shownConfig(await readConfig(file, { environment }))
  output.result({ config: file, ...shown }, () => [
    `// ${file}`,
    ...inspect(shown, { depth: null, breakLength: WIDTH, maxArrayLength: null, maxStringLength: null }).split('\n'),
  ])
  return EXIT.done
}
