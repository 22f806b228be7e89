import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const MEGABYTES = 64

/** Megabytes a second that the disk of a folder takes, written in sequence and synced. */
export function diskCapacity(folder: string): number {
  const path = join(folder, 'disk-capacity')
  const block = Buffer.alloc(2 ** 20, 0x5a)
  const file = openSync(path, 'w')
  try {
    const started = performance.now()
    for (let megabyte = 0; megabyte < MEGABYTES; megabyte++) writeSync(file, block)
    fsyncSync(file)
    return (MEGABYTES * 1_000) / (performance.now() - started)
  } finally {
    closeSync(file)
    rmSync(path)
  }
}
