import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredSize } from 'tidemark'

/** Header of a SQLite file: page size at byte 16, number of free pages at byte 36. */
const HEADER_BYTES = 40
const LARGEST_PAGE = 65_536

/** SQLite files of a folder and their logs. Free pages are read from each header, as of the last checkpoint. */
export async function sizeOfFiles(folder: string, isWanted = (_name: string): boolean => true): Promise<StoredSize> {
  let bytes = 0
  let reusableBytes = 0
  for (const name of await namesIn(folder)) {
    if (!isWanted(name)) continue
    const size = await sizeOf(join(folder, name), name.endsWith('.db'))
    bytes += size.bytes
    reusableBytes += size.reusableBytes
  }
  return { bytes, reusableBytes }
}

async function sizeOf(path: string, isDatabase: boolean): Promise<StoredSize> {
  try {
    const { size } = await stat(path)
    return { bytes: size, reusableBytes: isDatabase ? Math.min(size, await freeBytesOf(path)) : 0 }
  } catch (error) {
    // A log may disappear at any time.
    if (isMissing(error)) return { bytes: 0, reusableBytes: 0 }
    throw error
  }
}

async function freeBytesOf(path: string): Promise<number> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    if (bytesRead < HEADER_BYTES) return 0
    const written = buffer.readUInt16BE(16)
    return (written === 1 ? LARGEST_PAGE : written) * buffer.readUInt32BE(36)
  } finally {
    await file.close()
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'
