import { start } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { dataFolderOf } from '../runs/data-folder.ts'

/** Ctrl-C is how it is meant to end: 0, unless something failed. */
export async function startPipeline(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const { output, interrupted } = surroundings
  const server = given.flag('no-server') ? undefined : await import('./open-server.ts')
  const choice = server?.serverChoice(given, surroundings)
  const isWell = await start({
    dataFolder: dataFolderOf(given),
    newRun: given.flag('new'),
    ticks: given.whole('ticks'),
    format: output.json ? 'json' : 'text',
    interrupted,
    ...(server && choice && { serve: started => server.openServer(choice, started) }),
  })
  return isWell ? EXIT.done : EXIT.failed
}
