import { existsSync, readFileSync, statSync } from 'node:fs'
import type { Storage } from '../contender.ts'

/** SQLite starts its write-ahead log over, so its bytes are counted where this process hands them to the kernel. */
export function sqliteStorage(path: string): Storage {
  const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)
  return { written: writtenByThisProcess(), stored: sizeOf(path) + sizeOf(`${path}-wal`), dead: null }
}

function writtenByThisProcess(): number | null {
  if (!existsSync('/proc/self/io')) return null
  return Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
}
