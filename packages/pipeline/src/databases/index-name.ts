import { isRunId, requireRunId } from '../run-id.ts'

const PATTERN = /^run_(\d{8})_(\d{8})_([0-9a-f]{8})_([0-9a-f]{4})_([0-9a-f]{4})_([0-9a-f]{4})_([0-9a-f]{12})$/

/**
 * Name of a run's schema, and of its file without the extension: letters, digits and '_', 58 characters. PostgreSQL
 * truncates names of more than 63.
 */
export function indexName(runId: string): string {
  return `run_${requireRunId(runId).replaceAll('-', '_')}`
}

/** Run whose index has this name, or undefined. */
export function runOfIndex(name: string): string | undefined {
  const match = PATTERN.exec(name)
  const runId = match?.slice(1).join('-')
  return isRunId(runId) ? runId : undefined
}
