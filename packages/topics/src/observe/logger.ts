import { describeFailure, ignoreRejection, isThenable, reasonOf } from '../errors/failure.ts'

/** Interface of a logger. A pino logger fits as it is. */
export type Logger = {
  /**
   * Log at DEBUG.
   *
   * @example
   * logger.debug({ topic: 'orders' }, 'claimed')
   */
  debug(fields: object, message: string): void
  /**
   * Log at INFO.
   *
   * @example
   * logger.info({ topic: 'orders' }, 'started')
   */
  info(fields: object, message: string): void
  /**
   * Log at WARN.
   *
   * @example
   * logger.warn({ topic: 'orders' }, 'lease expired')
   */
  warn(fields: object, message: string): void
  /**
   * Log at ERROR.
   *
   * @example
   * logger.error({ topic: 'orders' }, 'claim failed')
   */
  error(fields: object, message: string): void
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

export const isLogger = (value: object): boolean =>
  LEVELS.every(level => typeof (value as Record<string, unknown>)[level] === 'function')

/**
 * The same logger, but it never throws: a publish must not fail after it was stored because its log line could not be
 * written. A failing logger is reported once, as a process warning.
 */
export function safeLogger(logger: Logger): Logger {
  let isTold = false
  const fail = (error: unknown): void => {
    if (isTold) return
    isTold = true
    process.emitWarning(`The logger given to Tidemark fails: ${reasonOf(error)}`, 'TidemarkLoggerWarning')
  }
  const safely =
    (level: keyof Logger) =>
    (fields: object, message: string): void => {
      try {
        const answer: unknown = logger[level](fields, message)
        if (isThenable(answer)) Promise.resolve(answer).catch(fail)
      } catch (error) {
        fail(error)
        // Perhaps the error to be logged caused it.
        if ('err' in fields) quietly(() => logger[level]({ ...fields, err: describeFailure(fields.err) }, message))
      }
    }
  return Object.fromEntries(LEVELS.map(level => [level, safely(level)])) as Logger
}

function quietly(log: () => unknown): void {
  try {
    ignoreRejection(log())
  } catch {
    // The failing logger has been reported.
  }
}
