import { readFileSync } from 'node:fs'

/** Whether the process runs. A zombie does not: in a container whose first process never reaps, it would stay for ever. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false // ESRCH: gone
  }
  return !isZombie(pid)
}

function isZombie(pid: number): boolean {
  try {
    // 'pid (name) state …', where the name may itself hold spaces and parentheses.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')
  } catch {
    return false // no /proc on this system
  }
}
