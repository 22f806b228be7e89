import { writeJson } from '../../report/json.ts'
import { machineFacts } from '../../report/machine.ts'
import type { EngineName } from '../../suite.ts'
import type { Checkpoint, Outcome } from './checkpoint.ts'
import type { Progress } from './progress.ts'
import { openStage } from './stage.ts'
import { hasPassed } from './verdict.ts'

export type Report = Outcome & {
  readonly checkpoint: string
  readonly engine: EngineName
  readonly full: boolean
  readonly passed: boolean
  readonly seconds: number
  readonly machine: ReturnType<typeof machineFacts>
}

export type RunOptions = {
  readonly engine: EngineName
  readonly full: boolean
  readonly signal: AbortSignal
  readonly progress: Pick<Progress, 'phase'>
  /** Where the report goes. */
  readonly file: string
}

export async function runCheckpoint(checkpoint: Checkpoint, options: RunOptions): Promise<Report> {
  const { engine, full, signal, progress, file } = options
  const started = performance.now()
  const outcome = await onStage(checkpoint, { engine, full, signal, progress })
  const report = {
    checkpoint: checkpoint.name,
    engine,
    full,
    passed: hasPassed(outcome.criteria),
    seconds: Math.round((performance.now() - started) / 1_000),
    machine: machineFacts(),
    ...outcome,
  }
  writeJson(file, report)
  return report
}

async function onStage(checkpoint: Checkpoint, options: Parameters<typeof openStage>[0]): Promise<Outcome> {
  await using stage = openStage(options)
  return await checkpoint.run(stage)
}
