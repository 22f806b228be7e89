import type { Logger } from '../index.ts'

export type LogLine = { readonly level: keyof Logger; readonly fields: object; readonly text: string }

/** A logger whose lines a test can count. */
export function recording(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: keyof Logger) => (fields: object, text: string) => {
    lines.push({ level, fields, text })
  }
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}
