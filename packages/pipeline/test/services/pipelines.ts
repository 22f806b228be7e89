import { existsSync, readFileSync } from 'node:fs'
import { checkConfig, type Pipeline, type PipelineConfig, runPipeline } from '../../src/index.ts'
import { SILENT } from './loggers.ts'

export async function runConfig(config: PipelineConfig, logger = SILENT): Promise<Pipeline> {
  return await runPipeline(checkConfig(config, import.meta.dirname), { logger })
}

/** What the collector wrote down: 'run id, tick, bytes' of each. */
export function collected(file: string): { runId: string; tick: number }[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.map(line => line.split(' ')).map(([runId = '', tick]) => ({ runId, tick: Number(tick) }))
}

export const stateOf = (pipeline: Pipeline, name: string): string => pipeline.services.statusOf(name).state
