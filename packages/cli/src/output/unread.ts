import { fstatSync, lstatSync, readdirSync, readlinkSync } from 'node:fs'

const LOOK_MS = 200
const READABLE = 0o400

/**
 * Reports when nobody reads a pipe any more. A write would fail, but `tidemark tail orders | head -1` may have nothing
 * to write for hours. Node can't ask the kernel, but Linux shows which processes have which end of a pipe open. A
 * reader of another user is not visible; then, and on other systems, the next write has to fail.
 */
export function onUnread(fd: number, heard: () => void): void {
  const pipe = pipeOf(fd)
  let reader = pipe === undefined ? undefined : findReader(pipe)
  if (pipe === undefined || reader === undefined) return
  const timer = setInterval(() => {
    if (reader !== undefined && isReading(reader, pipe)) return
    reader = findReader(pipe)
    if (reader !== undefined) return
    clearInterval(timer)
    heard()
  }, LOOK_MS)
  timer.unref()
}

/** 'pipe:[4711]'. */
function pipeOf(fd: number): string | undefined {
  try {
    return process.platform === 'linux' && fstatSync(fd).isFIFO() ? readlinkSync(`/proc/self/fd/${fd}`) : undefined
  } catch {
    return undefined // It is closed.
  }
}

/** As /proc/<process>/fd/<number>. */
function findReader(pipe: string): string | undefined {
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name) && name !== String(process.pid))
  for (const each of processes) {
    const open = filesOf(each).find(path => isReading(path, pipe))
    if (open !== undefined) return open
  }
  return undefined
}

function filesOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map(number => `/proc/${pid}/fd/${number}`)
  } catch {
    return [] // It is another user's, or has ended.
  }
}

function isReading(path: string, pipe: string): boolean {
  try {
    return readlinkSync(path) === pipe && (lstatSync(path).mode & READABLE) !== 0
  } catch {
    return false // It has ended.
  }
}
