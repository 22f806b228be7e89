/**
 * Ends the processes, unmounts the disks and removes the folders that must not outlive this process, however this process ends: normal
 * exit, crash, Ctrl-C or SIGKILL.
 *
 *   this process ──pipe──▶ watchdog-process.ts   (its own session, so Ctrl-C does not reach it)
 *
 * Each line down the pipe is the whole list, and the last one counts. The pipe closes when this process is gone, and
 * only then does the watchdog act.
 */
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** How to end a process; 0 sends nothing, and only waits for it to end by itself before folders are removed. */
export type EndSignal = NodeJS.Signals | 0

export type Leftovers = {
  processes: { pid: number; signal: EndSignal }[]
  mounts: string[]
  folders: string[]
}

const processes = new Map<number, EndSignal>()
const mounts = new Set<string>()
const folders = new Set<string>()
let pipe: Writable | undefined

export function watchProcess(pid: number, signal: EndSignal): void {
  processes.set(pid, signal)
  tellWatchdog()
}

export function unwatchProcess(pid: number): void {
  if (processes.delete(pid)) tellWatchdog()
}

/** Before its folder, which can't be removed while it is mounted. */
export function watchMount(path: string): void {
  mounts.add(path)
  tellWatchdog()
}

export function unwatchMount(path: string): void {
  if (mounts.delete(path)) tellWatchdog()
}

export function watchFolder(path: string): void {
  folders.add(path)
  tellWatchdog()
}

export function unwatchFolder(path: string): void {
  if (folders.delete(path)) tellWatchdog()
}

function tellWatchdog(): void {
  const leftovers: Leftovers = {
    processes: Array.from(processes, ([pid, signal]) => ({ pid, signal })),
    mounts: [...mounts],
    folders: [...folders],
  }
  pipe ??= startWatchdog()
  pipe.write(`${JSON.stringify(leftovers)}\n`)
}

function startWatchdog(): Writable {
  const file = fileURLToPath(new URL('watchdog-process.ts', import.meta.url))
  const watchdog = spawn(process.execPath, [file], {
    cwd: tmpdir(),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  // Neither the watchdog nor its pipe may keep this process alive.
  if ('unref' in watchdog.stdin && typeof watchdog.stdin.unref === 'function') watchdog.stdin.unref()
  return watchdog.stdin
}
