/**
 * How long statements took on the server, from a sample that it writes to its log. pg_stat_statements has no percentiles,
 * and what the client sees includes its own queue.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = 'log'
/** A statement of a fixed amount of work: how long it takes shows what else the machine does. */
export const FIXED_WORK = 'select /* fixed work */ count(*) from generate_series(1, 20000)'

/** Settings of a server whose statements are to be read. */
export const sampledStatements = (share: number): string[] => [
  'logging_collector=on',
  `log_directory=${FOLDER}`,
  'log_rotation_age=0',
  'log_rotation_size=0',
  'log_min_duration_sample=0',
  `log_statement_sample_rate=${share}`,
  'log_parameter_max_length=0',
  'log_line_prefix=%d ',
]

/** Milliseconds of the statements of a database whose text has `part`. */
export function statementDurations(dataDir: string, database: string, part: string): number[] {
  // Further lines of a statement begin with a tab.
  const entries = readdirSync(join(dataDir, FOLDER)).flatMap(name =>
    readFileSync(join(dataDir, FOLDER, name), 'utf8').split(/\n(?!\t)/),
  )
  return entries.flatMap(entry => {
    if (!entry.startsWith(`${database} `) || !entry.includes(part)) return []
    const found = /duration: ([0-9.]+) ms {2}execute/.exec(entry)
    return found?.[1] === undefined ? [] : [Number(found[1])]
  })
}
