import type { Logger } from 'tidemark'
import { TOPIC as DEMONSTRATION } from '../demo/orders.ts'

const KEPT = 5

/** Warnings and errors of all services; the newest few are kept for the screen. */
export class RecentProblems {
  readonly logger: Logger
  #recent: string[] = []

  constructor(onProblem: (text: string) => void) {
    const note = (fields: object, message: string): void => {
      const text = textOf(fields, message)
      this.#recent = [...this.#recent, `${new Date().toISOString().slice(11, 19)}  ${text}`].slice(-KEPT)
      onProblem(text)
    }
    this.logger = { debug() {}, info() {}, warn: note, error: note }
  }

  get recent(): readonly string[] {
    return this.#recent
  }
}

function textOf(fields: object, message: string): string {
  const { service, topic, group, action, err } = fields as Readonly<Record<string, unknown>>
  // Warnings from topics have no service; the topic and the group identify it.
  const who = service ?? [topic, group].filter(name => typeof name === 'string' && name !== '').join(' / ')
  // Its failures are part of what it shows.
  const note = topic === DEMONSTRATION ? ' (demonstration)' : ''
  const problem = err instanceof Error ? err.message : undefined
  // A message of several lines would push the screen up, and one that quotes a file could move the cursor or reverse
  // text.
  const text = [who, action ?? message, problem].filter(part => typeof part === 'string' && part !== '').join(': ')
  return `${text}${note}`.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
}
