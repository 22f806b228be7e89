import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

export type MachineFacts = { readonly [fact: string]: string | number }

/** What the figures depend on besides our code. The load is the machine's own at the end of the run. */
export function machineFacts(): MachineFacts {
  return {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() || 'unknown',
    memoryGB: Math.round(totalmem() / 1024 ** 3),
    load: (loadavg()[0] ?? 0).toFixed(2),
  }
}
