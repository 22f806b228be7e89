import { findConfig, isRunId } from '@tidemark/pipeline'
import { UsageError } from '../errors.ts'
import type { Given } from '../given.ts'

/** The given configuration, or the one in this folder; undefined: the default pipeline. */
export function configFileOf(given: Given): string | undefined {
  const named = given.text('config')
  const isNone = given.flag('no-config')
  if (named !== undefined && isNone) throw new UsageError("--config and --no-config can't be combined")
  if (named !== undefined && given.text('data') !== undefined) {
    throw new UsageError('--data applies to the default pipeline only. Set the paths in the configuration instead')
  }
  // A given data folder belongs to the default pipeline.
  return isNone || given.text('data') !== undefined ? undefined : (named ?? findConfig())
}

/** `--only a --only b`, or `--only a,b`. */
export const onlyOf = (given: Given): readonly string[] =>
  given
    .texts('only')
    .flatMap(names => names.split(','))
    .map(name => name.trim())
    .filter(name => name !== '')

export function runOf(given: Given): string | undefined {
  const run = given.text('run')
  if (run === undefined || run === 'newest' || run === 'next' || isRunId(run)) return run
  throw new UsageError(`--run must be a run id, 'newest' or 'next', not '${run}'`)
}
