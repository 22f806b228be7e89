import type { Unit } from '../figure.ts'

export type LineName =
  | 'publish-single'
  | 'publish-batch'
  | 'publish-concurrent'
  | 'drain'
  | 'together'
  | `fan-out-${1 | 4 | 16 | 64}`
  | `latency-${100 | 5000}-${'p50' | 'p99'}`
  | 'wal'
  | 'stored'
  | 'dead-rows'
  | 'memory'
  | 'server-memory'

/** One column of the tables: what is measured, and which way is better. */
export type Line = {
  readonly name: LineName
  readonly title: string
  readonly unit: Unit
  readonly better: 'higher' | 'lower'
}

export type Section = { readonly title: string; readonly about: string; readonly lines: readonly Line[] }

const rate = (name: LineName, title: string): Line => ({ name, title, unit: '/s', better: 'higher' })
const wait = (name: LineName, title: string): Line => ({ name, title, unit: 'ms', better: 'lower' })

export const SECTIONS: readonly Section[] = [
  {
    title: 'Publishing',
    about: 'Messages per second of 200 bytes of JSON. A publish counts when it is acknowledged.',
    lines: [
      rate('publish-single', 'one caller, one at a time'),
      rate('publish-concurrent', '200 callers, one at a time each'),
      rate('publish-batch', 'batches of 1000'),
    ],
  },
  {
    title: 'Consuming',
    about: 'Messages per second that one group has handled and acknowledged.',
    lines: [rate('drain', 'a backlog'), rate('together', 'while they are published in batches')],
  },
  {
    title: 'Fan-out',
    about: 'Deliveries per second: every group handles and acknowledges every message. Publishing is included.',
    lines: [
      rate('fan-out-1', '1 group'),
      rate('fan-out-4', '4 groups'),
      rate('fan-out-16', '16 groups'),
      rate('fan-out-64', '64 groups'),
    ],
  },
  {
    title: 'Latency',
    about: 'From the call of publish to the start of the handler in the same process.',
    lines: [
      wait('latency-100-p50', 'median at 100 a second'),
      wait('latency-100-p99', 'p99 at 100 a second'),
      wait('latency-5000-p50', 'median at 5000 a second'),
      wait('latency-5000-p99', 'p99 at 5000 a second'),
    ],
  },
  {
    title: 'Cost',
    about:
      'Of the first messages of a new database, published in batches, handled and acknowledged by one group, before any clean-up.',
    lines: [
      { name: 'wal', title: 'write-ahead log', unit: 'B/msg', better: 'lower' },
      { name: 'stored', title: 'data left', unit: 'B/msg', better: 'lower' },
      { name: 'dead-rows', title: 'dead rows', unit: 'rows/msg', better: 'lower' },
      { name: 'memory', title: 'memory of the program', unit: 'MB', better: 'lower' },
      { name: 'server-memory', title: 'memory of the server', unit: 'MB', better: 'lower' },
    ],
  },
]

export const LINES: readonly Line[] = SECTIONS.flatMap(({ lines }) => lines)

/** One value for each line that was measured; null where the contender could not do it. */
export type Values = { readonly [name in LineName]?: number | null }
