import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { describeFailure } from '../errors/failure.ts'
import type { Logger } from './logger.ts'

/** pino's level numbers, so that tools for pino's lines can read these. */
const LEVELS = { warn: 40, error: 50 } as const

const STDERR = 2
const DEEPEST_CAUSE = 5

/** Warnings and errors to standard error, one JSON line each, in pino's format; `logger` in open() replaces it. */
export function defaultLogger(write: (line: string) => void = writeToStderr): Logger {
  const at =
    (level: keyof typeof LEVELS) =>
    (fields: object, message: string): void => {
      const { pid } = process
      const head = { level: LEVELS[level], time: Date.now(), pid, hostname: hostname(), name: 'tidemark' }
      write(`${JSON.stringify({ ...head, ...fields, msg: message }, shown)}\n`)
    }
  return { debug() {}, info() {}, warn: at('warn'), error: at('error') }
}

function shown(_: string, value: unknown): unknown {
  if (value instanceof Error) return describeError(value)
  return typeof value === 'bigint' ? String(value) : value
}

function describeError(error: Error, depth = 0): object {
  const { name, message } = describeFailure(error)
  const { code, stack, cause } = error as Error & { readonly code?: unknown }
  const known = { type: name, message, ...(code !== undefined && { code }), stack }
  if (cause === undefined || depth === DEEPEST_CAUSE) return known
  return { ...known, cause: cause instanceof Error ? describeError(cause, depth + 1) : describeFailure(cause) }
}

/** Synchronous, so that the line is written even if the process ends right after it. */
function writeToStderr(line: string): void {
  try {
    writeFileSync(STDERR, line)
  } catch (error) {
    // A full pipe takes it later. If nobody reads any more there is nobody to tell.
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') process.stderr.write(line)
  }
}
