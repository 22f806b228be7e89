import { appendFileSync, closeSync, openSync, renameSync, statSync } from 'node:fs'
import type { Logger } from 'tidemark'
import { UsageError } from '../errors.ts'
import { plainText } from '../output/plain-text.ts'
import { redact } from '../redact.ts'

export const LOG_FORMATS = ['pretty', 'json'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Size at which it is renamed to <file>.1, replacing the previous one. */
const LARGEST_FILE = 64 * 1024 * 1024

type Level = 'info' | 'warn' | 'error'
type Line = { readonly at: Date; readonly level: Level; readonly text: string; readonly fields: object }

/** What happened in the server: changes, refusals and errors, with their causes. */
export function serverLog(format: LogFormat, write: (line: string) => void): Logger {
  const show = format === 'json' ? jsonLine : prettyLines
  const at =
    (level: Level) =>
    (fields: object, text: string): void =>
      write(redact(show({ at: new Date(), level, text, fields })))
  return { debug() {}, info: at('info'), warn: at('warn'), error: at('error') }
}

/** Private to its user, like the data. */
export function logFile(path: string): (line: string) => void {
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch (error) {
    throw new UsageError(`The log file ${path} can't be written: ${(error as Error).message}`)
  }
  let { size } = statSync(path)
  return line => {
    if (size > LARGEST_FILE) {
      renameSync(path, `${path}.1`)
      size = 0
    }
    const text = `${line}\n`
    appendFileSync(path, text, { mode: 0o600 })
    size += Buffer.byteLength(text)
  }
}

/** The same line to both. */
export const both = (one: Logger, other: Logger): Logger => {
  const at =
    (level: keyof Logger) =>
    (fields: object, text: string): void => {
      one[level](fields, text)
      other[level](fields, text)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function jsonLine({ at, level, text, fields }: Line): string {
  const plain = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, jsonValue(value)]))
  return JSON.stringify({ time: at.toISOString(), level, msg: text, ...plain })
}

/** One line, and the stack of an error below it. */
function prettyLines({ at, level, text, fields }: Line): string {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const shown = entries
    .filter(([, value]) => !(value instanceof Error))
    .map(([name, value]) => `${name}=${wordOf(value)}`)
  const errors = entries.flatMap(([, value]) => (value instanceof Error ? stackOf(value) : []))
  const head = [at.toISOString(), level.toUpperCase().padEnd(5), plainText(text), ...shown].join(' ')
  return [head, ...errors.map(line => `    ${line}`)].join('\n')
}

function wordOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return plainText(/[\s"=]/.test(text) && typeof value === 'string' ? JSON.stringify(text) : text)
}

function stackOf(error: Error): string[] {
  const lines = (error.stack ?? String(error)).split('\n').map(line => plainText(line.trim()))
  return error.cause instanceof Error ? [...lines, 'caused by:', ...stackOf(error.cause)] : lines
}

function jsonValue(value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  const { code } = value as { code?: unknown }
  return {
    name,
    message,
    ...(code !== undefined && { code }),
    stack,
    ...(cause !== undefined && { cause: jsonValue(cause) }),
  }
}
