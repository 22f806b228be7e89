import { redact } from '../redact.ts'
import { toJson } from './json.ts'
import { LiveLine } from './live-line.ts'
import type { Colour, TextStream } from './text-stream.ts'
import { marked, shown } from './visible.ts'

export type OutputOptions = {
  readonly json: boolean
  readonly stdout: TextStream
  readonly stderr: TextStream
  readonly environment: NodeJS.ProcessEnv
}

/** Results go to standard output, as text for people or JSON for programs; everything else goes to standard error. */
export class Output {
  readonly json: boolean
  /** Whether somebody watches the results as they arrive. */
  readonly isLive: boolean
  readonly #options: OutputOptions

  constructor(options: OutputOptions) {
    this.json = options.json
    this.isLive = options.stdout.isTTY === true && !options.json && options.environment.TERM !== 'dumb'
    this.#options = options
  }

  /** The whole result. `text` is called only if people read it. */
  result(value: unknown, text: () => readonly string[]): void {
    this.#options.stdout.write(this.json ? `${toJson(value)}\n` : lines(text()))
  }

  /** One of a stream of results. */
  next(value: unknown, text: () => string): void {
    this.result(value, () => [text()])
  }

  /** Shows progress, on standard error if that is a terminal. */
  liveLine(): LiveLine {
    const { stderr, environment } = this.#options
    return new LiveLine(stderr, stderr.isTTY === true && !this.json && environment.TERM !== 'dumb')
  }

  /** For people, on standard error, so that it does not mix with results. */
  note(text: string): void {
    this.#options.stderr.write(paragraph(redact(text)))
  }

  /** Information for people or programs beside the results, on standard error. */
  aside(value: unknown, text: string): void {
    if (this.json) this.#options.stderr.write(`${toJson(value)}\n`)
    else this.note(text)
  }

  complain(error: { readonly code: string; readonly message: string }): void {
    const { code } = error
    const message = redact(error.message)
    if (this.json) this.#options.stderr.write(`${toJson({ error: { code, message } })}\n`)
    else this.#options.stderr.write(paragraph(`${this.#paint('red', 'error', this.#options.stderr)} ${message}`))
  }

  /** For text that goes to `result` or `next`. */
  paint(colour: Colour, text: string): string {
    return this.#paint(colour, text, this.#options.stdout)
  }

  #paint(colour: Colour, text: string, stream: TextStream): string {
    const { NO_COLOR, TERM } = this.#options.environment
    const isWanted = stream.isTTY === true && !NO_COLOR && TERM !== 'dumb'
    return isWanted ? marked(colour, text) : text
  }
}

const lines = (text: readonly string[]): string => text.map(line => `${shown(line)}\n`).join('')

/** Its further lines are indented, so that none of them can pass for another message. */
const paragraph = (text: string): string => `${text.split('\n').map(shown).join('\n  ')}\n`
