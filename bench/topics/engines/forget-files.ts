import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Written to the disk, and out of the system's cache. Node can't ask for that; dd can (Linux). */
export async function forgetFiles(folder: string): Promise<void> {
  await run('sync')
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    await run('dd', [`if=${join(entry.parentPath, entry.name)}`, 'iflag=nocache', 'count=0', 'status=none'])
  }
}
