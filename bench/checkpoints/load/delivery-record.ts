import { randomUUID } from 'node:crypto'
import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { SeenNumbers } from './seen-numbers.ts'

const BYTES = 4

/** What a process has handled, written at once: the system keeps it when the process is killed. */
export class DeliveryRecord {
  readonly #file: number
  readonly #entry = Buffer.alloc(BYTES)

  constructor(folder: string) {
    this.#file = openSync(join(folder, randomUUID()), 'a')
  }

  add(number: number): void {
    this.#entry.writeUInt32LE(number)
    writeSync(this.#file, this.#entry)
  }
}

/** Number of different messages, and of all deliveries, that the processes have recorded in a folder. */
export function readRecords(folder: string): { readonly distinct: number; readonly deliveries: number } {
  const seen = new SeenNumbers()
  let deliveries = 0
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name))
    for (let at = 0; at + BYTES <= bytes.length; at += BYTES) {
      seen.add(bytes.readUInt32LE(at))
      deliveries++
    }
  }
  return { distinct: seen.size, deliveries }
}
