import { open } from 'node:fs/promises'
import type { OpenFile } from '../container/read-container.ts'

/** Rejects with the error of the file system. */
export async function openFile(path: string): Promise<OpenFile> {
  const handle = await open(path, 'r')
  try {
    const { size, mtimeMs } = await handle.stat()
    return {
      name: path,
      size,
      writtenAt: Math.floor(mtimeMs),
      read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
      [Symbol.asyncDispose]: async () => await handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}
