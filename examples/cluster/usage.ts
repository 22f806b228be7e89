import { readFileSync } from 'node:fs'

export type Usage = {
  /** Largest resident memory so far. */
  readonly memoryBytes: number
  readonly processorMs: number
}

/** Linux counts these in hundredths of a second, whatever its clock is. */
const TICK_MS = 10

/** From /proc; undefined on other systems, and if it has ended. */
export function usageOf(pid: number): Usage | undefined {
  try {
    const [, peak] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    // The name of the program may have spaces; the figures follow the last bracket.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user, system] = [Number(fields[11]), Number(fields[12])]
    return { memoryBytes: Number(peak) * 1024, processorMs: (user + system) * TICK_MS }
  } catch {
    return undefined
  }
}
