import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseLines } from './journal.ts'
import { countPaths, type PathCounts, type RarePath } from './rare-paths.ts'

/** How often each path has run so far: reads what was added to the journals since the last look. */
export class PathWatch {
  readonly #folder: string
  readonly #read = new Map<string, number>()
  #counts: PathCounts = countPaths([])

  constructor(folder: string) {
    this.#folder = folder
  }

  count(path: RarePath): number {
    for (const name of readdirSync(this.#folder)) {
      const { text, end } = newLines(join(this.#folder, name), this.#read.get(name) ?? 0)
      this.#read.set(name, end)
      const more = countPaths(parseLines(text))
      this.#counts = Object.fromEntries(
        [...new Set([...Object.keys(this.#counts), ...Object.keys(more)])].map(path => [
          path,
          (this.#counts[path] ?? 0) + (more[path] ?? 0),
        ]),
      )
    }
    return this.#counts[path] ?? 0
  }

  /** Waits until the path has run once more than now; not for ever, as the report says what never ran. */
  expect(path: RarePath): () => Promise<void> {
    const before = this.count(path)
    return async () => {
      const end = performance.now() + PATIENCE_MS
      while (this.count(path) === before && performance.now() < end) await delay(LOOK_MS)
    }
  }
}

const LOOK_MS = 200
const PATIENCE_MS = 20_000

/** Up to the last complete line. */
function newLines(path: string, start: number): { text: string; end: number } {
  const file = openSync(path, 'r')
  try {
    const chunks: Buffer[] = []
    for (let at = start; ; ) {
      const buffer = Buffer.allocUnsafe(1 << 16)
      const length = readSync(file, buffer, 0, buffer.length, at)
      if (length === 0) break
      chunks.push(buffer.subarray(0, length))
      at += length
    }
    const bytes = Buffer.concat(chunks)
    const whole = bytes.subarray(0, bytes.lastIndexOf(10) + 1)
    return { text: whole.toString(), end: start + whole.length }
  } finally {
    closeSync(file)
  }
}
