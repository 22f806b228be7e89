import { openSync, readFileSync, writeSync } from 'node:fs'

/** On every line: when it was written, on a clock that all processes of the machine share, and by whom. */
export type Stamp = { readonly at: string; readonly pid: number }

/** `intended` before the publish is sent, `acknowledged` after it resolved. */
export type PublisherEntry =
  | { readonly kind: 'intended'; readonly key: string; readonly messageId?: string; readonly batch?: string }
  | { readonly kind: 'acknowledged'; readonly key: string; readonly id: number }

/** `delivered` before it is handled, `acking` and `nacking` before the call, `acked`, `nacked` or `stale` after it. */
export type ConsumerEntry = {
  readonly kind: 'delivered' | 'acking' | 'acked' | 'nacking' | 'nacked' | 'stale'
  readonly key: string
  readonly id: number
  readonly version: number
  readonly attempt: number
}

export type HandlerEntry = {
  readonly kind: 'started' | 'finished'
  readonly key: string
  readonly attempt: number
  readonly version: number
}

/** What processes did, one line each, written before they go on: a written line survives a SIGKILL. */
export class Journal<Entry extends object> {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  write(entry: Entry): void {
    const stamp: Stamp = { at: String(process.hrtime.bigint()), pid: process.pid }
    writeSync(this.#file, `${JSON.stringify({ ...stamp, ...entry })}\n`)
  }
}

export function readJournal<Entry extends object>(path: string): (Entry & Stamp)[] {
  const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n')
  return lines.filter(line => line !== '').map(line => JSON.parse(line))
}
