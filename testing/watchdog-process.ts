/** The other end of watchdog.ts: waits for its parent to be gone, then clears up what the parent left. */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { isRunning } from './is-running.ts'
import { until } from './until.ts'
import type { EndSignal, Leftovers } from './watchdog.ts'

let leftovers: Leftovers = { processes: [], mounts: [], folders: [] }
for await (const line of createInterface({ input: process.stdin })) leftovers = JSON.parse(line)

await Promise.allSettled(leftovers.processes.map(({ pid, signal }) => end(pid, signal)))
// Lazily: whoever still uses it keeps it, and nobody finds it any more.
await Promise.allSettled(leftovers.mounts.map(path => promisify(execFile)('umount', ['-l', path])))
await Promise.allSettled(
  leftovers.folders.map(folder => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })),
)

async function end(pid: number, signal: EndSignal): Promise<void> {
  if (!isRunning(pid)) return
  process.kill(pid, signal)
  try {
    await until(() => !isRunning(pid), { timeout: 10_000, what: `process ${pid} to end` })
  } catch {
    process.kill(pid, 'SIGKILL') // It had its chance.
  }
}
