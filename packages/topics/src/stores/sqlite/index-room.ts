import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseFullError } from '../../errors.ts'

/** SQLite lengthens the index of its WAL (the -shm file) by writing one byte in each of these. */
const PAGE = 4_096
/** Eight times what the index grows by. */
const LEAST_ROOM = 256 * 1_024

/**
 * Refuses to write where SQLite could crash the process. The index of the WAL is mapped into memory. Where blocks are
 * smaller than a page (1 KiB on an ext4 file system that was made with less than 512 MB), the byte in each page allocates
 * one of its blocks only. If the disk is full when the others are first touched, the system ends the process with SIGBUS.
 */
export class IndexRoom {
  readonly #path: string
  readonly #folder: string
  readonly #isAtRisk: boolean

  constructor(path: string) {
    this.#path = path
    this.#folder = dirname(path)
    this.#isAtRisk = path !== ':memory:' && spaceOf(this.#folder).block < PAGE
  }

  /** Call it before SQLite may lengthen the index: before the first read, and before each transaction that writes. */
  require(): void {
    if (this.#isAtRisk && spaceOf(this.#folder).free < LEAST_ROOM) throw new DatabaseFullError(this.#path)
  }
}

function spaceOf(folder: string): { block: number; free: number } {
  try {
    const { bsize, bavail } = statfsSync(folder)
    return { block: bsize, free: bsize * bavail }
  } catch {
    // Not known here; whatever is wrong with the folder, SQLite says it.
    return { block: PAGE, free: Number.POSITIVE_INFINITY }
  }
}
