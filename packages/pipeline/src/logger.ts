import type { Logger } from 'tidemark'

/**
 * Logger that writes warnings and errors to standard error, one JSON line each.
 *
 * @example
 * const logger = defaultLogger()
 * logger.warn({ run }, 'no metadata yet')
 */
export const defaultLogger = (): Logger => ({
  debug: () => {},
  info: () => {},
  warn: (fields, message) => write(40, fields, message),
  error: (fields, message) => write(50, fields, message),
})

function write(level: number, fields: object, message: string): void {
  const line = { level, time: Date.now(), name: 'tidemark', ...fields, msg: message }
  const text = JSON.stringify(line, (_, value) => (value instanceof Error ? plain(value) : value))
  process.stderr.write(`${text}\n`)
}

const plain = ({ name, message, stack }: Error): object => ({ type: name, message, stack })
