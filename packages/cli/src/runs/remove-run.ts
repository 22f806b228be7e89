import { findRun, isRunId, RunInUseError, type RunParts, removeRun } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { confirm } from '../confirm.ts'
import { loggerOf } from '../database.ts'
import { NotFoundError, UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { counted } from '../output/counted.ts'
import { megabytes } from '../output/units.ts'
import { redact } from '../redact.ts'
import { runLocations } from './run-locations.ts'

export async function removeStoredRun(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const { output, environment, interrupted } = surroundings
  const runId = given.argument('run')
  if (!isRunId(runId)) throw new UsageError(`'${runId}' is not a run id. 'tidemark runs' lists the runs`)
  const locations = await runLocations(given, environment)
  const logger = loggerOf(surroundings)
  const parts = await findRun(locations, runId, { logger })
  const lines = linesOf(parts)
  if (lines.length === 0) throw new NotFoundError(`Run ${runId} has no data. 'tidemark runs' lists the runs`)
  if (parts.inUse.length > 0) throw new RunInUseError(runId, parts.inUse)
  for (const line of [`Run ${runId} has:`, ...lines]) output.note(line)
  await confirm(given, `Removing run ${runId}`, interrupted)
  const { inUse: _, indexes, ...removed } = await removeRun(locations, runId, { logger })
  output.result({ ...removed, indexes: indexes.map(redact), removed: true }, () => [`Run ${runId} removed`])
  return EXIT.done
}

function linesOf({ files, topics, indexes, states, deadLetters }: RunParts): string[] {
  return [
    ...files.map(({ root, files: count, bytes }) => `  ${counted(count, 'file')}, ${megabytes(bytes)}, in ${root}`),
    ...topics.map(
      ({ topic, messages, groups }) => `  topic ${topic}: ${counted(messages, 'message')}, groups ${list(groups)}`,
    ),
    ...indexes.map(address => `  index in ${address}`),
    ...states.map(folder => `  saved states in ${folder}`),
    ...(deadLetters === 0 ? [] : [`  ${counted(deadLetters, 'dead letter')}`]),
  ]
}

const list = (names: readonly string[]): string => names.join(', ') || 'none'
