import { pino } from 'pino'

/** What Tidemark needs of a logger; pino's shape, so a pino logger fits as it is. */
export type Logger = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Warnings and errors to standard error, one JSON line each; `logger` in open() replaces it. */
export const defaultLogger = (): Logger =>
  pino({ name: 'tidemark', level: 'warn' }, pino.destination({ dest: 2, sync: true }))

export const isLogger = (value: object): boolean =>
  ['debug', 'info', 'warn', 'error'].every(level => typeof (value as Record<string, unknown>)[level] === 'function')
