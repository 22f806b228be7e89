import type { Logger } from 'tidemark'

const KEPT = 5

/** The warnings and errors of all services, the newest few of them kept for the screen. */
export class RecentProblems {
  readonly logger: Logger
  #recent: string[] = []
  #count = 0

  constructor(onProblem: (text: string) => void) {
    const note = (fields: object, message: string): void => {
      const text = textOf(fields, message)
      this.#recent = [...this.#recent, `${new Date().toISOString().slice(11, 19)}  ${text}`].slice(-KEPT)
      this.#count++
      onProblem(text)
    }
    this.logger = { debug() {}, info() {}, warn: note, error: note }
  }

  get recent(): readonly string[] {
    return this.#recent
  }

  get count(): number {
    return this.#count
  }
}

function textOf(fields: object, message: string): string {
  const { service, action, err } = fields as { service?: unknown; action?: unknown; err?: unknown }
  const problem = err instanceof Error ? err.message : undefined
  // A message of several lines would push the screen up.
  const text = [service, action ?? message, problem].filter(part => typeof part === 'string' && part !== '').join(': ')
  return text.replaceAll(/\s+/g, ' ')
}
