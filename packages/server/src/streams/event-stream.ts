import type { ServerResponse } from 'node:http'

export type ServerEvent = { readonly id?: string | number; readonly event: string } & (
  | { readonly data: unknown }
  /** Already JSON, in one line. */
  | { readonly text: string }
)

/** Clients reconnect after this time. */
const RETRY_MS = 2_000
const DROPPED = ': dropped, the reader is too slow\n\n'

/**
 * One reader. Its unsent data is limited: where possible the sender waits for a while, otherwise the reader is
 * disconnected.
 */
export class EventStream {
  readonly signal: AbortSignal
  /** The part of an event that the reader may see; undefined: nothing. */
  show: (event: ServerEvent) => ServerEvent | undefined = event => event
  readonly #raw: ServerResponse
  readonly #most: number
  readonly #patienceMs: number
  readonly #heartbeat: NodeJS.Timeout
  readonly #dropped = new AbortController()
  #largest = 0

  constructor(
    raw: ServerResponse,
    gone: AbortSignal,
    { streamBytes, heartbeatMs }: { readonly streamBytes: number; readonly heartbeatMs: number },
  ) {
    this.#raw = raw
    this.#most = streamBytes
    this.#patienceMs = heartbeatMs * 2
    this.signal = AbortSignal.any([gone, this.#dropped.signal])
    raw.on('error', () => this.drop())
    raw.write(`retry: ${RETRY_MS}\n\n`)
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs)
    this.#heartbeat.unref()
  }

  /** For events that can't wait: a reader with too much unsent data is disconnected. */
  push(event: ServerEvent): void {
    const shown = this.signal.aborted ? undefined : this.show(event)
    if (shown === undefined) return
    const text = toText(shown)
    this.#largest = Math.max(this.#largest, text.length)
    this.#raw.write(text)
    if (this.#isFull) this.drop()
  }

  /**
   * For data that can wait: resolves when the reader has room for more, and disconnects one that reads nothing for
   * long.
   */
  async send(event: ServerEvent): Promise<void> {
    if (this.signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.#raw.write(toText(event)) || this.#raw.writableLength <= this.#most / 2) return
    const timer = setTimeout(() => this.drop(), this.#patienceMs)
    this.#raw.once('drain', resolve)
    this.signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    clearTimeout(timer)
    this.#raw.off('drain', resolve)
  }

  drop(): void {
    if (this.#dropped.signal.aborted) return
    this.#raw.write(DROPPED)
    this.#dropped.abort()
    this.#raw.destroy()
  }

  end(): void {
    clearInterval(this.#heartbeat)
    this.#raw.end()
  }

  #beat(): void {
    if (this.#isFull) this.drop()
    else this.#raw.write(': \n\n')
  }

  /** Room for some of the largest events: a snapshot of 2000 topics is larger than the limit, and a second may follow at once. */
  get #isFull(): boolean {
    return this.#raw.writableLength > Math.max(this.#most, this.#largest * 4)
  }
}

/** JSON has no line breaks, so one data line is always enough. */
function toText({ id, event, ...given }: ServerEvent): string {
  const identified = id === undefined ? '' : `id: ${id}\n`
  return `${identified}event: ${event}\ndata: ${'text' in given ? given.text : jsonOf(given.data)}\n\n`
}

/** Data for many readers is made to text once. */
const texts = new WeakMap<object, string>()

function jsonOf(data: unknown): string {
  if (typeof data !== 'object' || data === null) return JSON.stringify(data)
  const text = texts.get(data) ?? JSON.stringify(data)
  texts.set(data, text)
  return text
}
