/**
 * What every process of a run did: one file per process, one line per step, written before the process goes on, so that a
 * line survives a SIGKILL. An operation has a line before the call and one after it; a call without an answer is unknown.
 */
import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Nanoseconds of the machine's monotonic clock, which all processes share and no fault changes. */
type Stamp = { readonly at: number; readonly pid: number }

/** `failed`: it certainly had no effect. `unknown`: it may have had one. */
export type Phase = 'invoked' | 'ok' | 'failed' | 'unknown'

export type PublishEntry = {
  readonly what: 'publish'
  readonly phase: Phase
  /** Unique per process: ties the answer to the call. */
  readonly call: number
  readonly topic: string
  /** Names of the messages, made up by the publisher; the payload carries the name. */
  readonly keys: readonly string[]
  /** Publishes of one process with a lower round were answered before those of a higher one began. */
  readonly round: number
  /** As the publish returned them, in the order of `keys`. */
  readonly messageIds?: readonly string[]
  readonly error?: string
}

/** One message in the hands of one consumer. */
export type Handed = {
  readonly topic: string
  readonly group: string
  readonly key: string
  readonly messageId: string
  readonly attempt: number
  readonly version: number
}

export type DeliveredEntry = Handed & { readonly what: 'delivered' }

export type SettleEntry = Handed & {
  readonly what: 'ack' | 'nack'
  readonly phase: Phase
  readonly error?: string
}

/** An operator's call. `topic` and `group` say what it may have changed; no group means every group of the topic. */
export type OperateEntry = {
  readonly what: 'operate'
  readonly phase: Phase
  readonly call: number
  readonly verb: string
  readonly topic: string
  readonly group?: string
  readonly error?: string
}

/** What the product itself reported. */
export type EventEntry = {
  readonly what: 'event'
  readonly name: string
  readonly topic: string
  readonly group?: string
  readonly count: number
}

/** The position below which a group has settled everything. */
export type WatermarkEntry = {
  readonly what: 'watermark'
  readonly topic: string
  readonly group: string
  readonly position: number
}

/**
 * Written by the run itself: everything that was committed between `from` and `to` may be gone (`what: 'loss'`), or the
 * claims made then (`what: 'crash'`), because claims do not wait for the disk.
 */
export type LossEntry = {
  readonly what: 'loss' | 'crash'
  readonly fault: string
  /** Start of the names of the topics concerned: the namespace and a slash, or nothing for all. */
  readonly scope: string
  readonly from: number
  readonly to: number
}

/** A process that ended without having been asked to, with its error. */
export type EndedEntry = { readonly what: 'ended'; readonly name: string; readonly why: string }

export type Entry =
  | PublishEntry
  | DeliveredEntry
  | SettleEntry
  | OperateEntry
  | EventEntry
  | WatermarkEntry
  | LossEntry
  | EndedEntry

export type Stamped<E extends Entry = Entry> = E & Stamp

export const now = (): number => Number(process.hrtime.bigint())

export class Journal {
  readonly #file: number

  constructor(folder: string, name: string) {
    this.#file = openSync(join(folder, `${name}-${process.pid}.jsonl`), 'a')
  }

  write(entry: Entry): void {
    writeSync(this.#file, `${JSON.stringify({ at: now(), pid: process.pid, ...entry })}\n`)
  }
}

/** The lines of all processes, in the order in which they were written. */
export function readJournals(folder: string): Stamped[] {
  const files = readdirSync(folder).filter(file => file.endsWith('.jsonl'))
  return files.flatMap(file => parseLines(readFileSync(join(folder, file), 'utf8'))).sort((a, b) => a.at - b.at)
}

/** A line that a kill cut short ends without a line break and says nothing. */
export function parseLines(text: string): Stamped[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Stamped)
}
