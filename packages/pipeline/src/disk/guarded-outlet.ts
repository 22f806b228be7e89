import { CodedError } from 'tidemark'
import type { Outlet } from '../resources/bound-resources.ts'
import type { DiskWatch } from './disk-watch.ts'

/** The item was not accepted because there is no disk space. */
export class DiskFullError extends CodedError {
  constructor(reason: string) {
    super('TIDEMARK_DISK_FULL', `The pipeline waits for ${reason}. Send this again later`)
  }
}

/** For callers that must not wait indefinitely: items are refused while sources wait for space. */
export function guardedOutlet<T>(outlet: Outlet<T>, disk: DiskWatch): Outlet<T> {
  return {
    async put(item, { signal, ...options } = {}) {
      if (disk.reason !== null) throw new DiskFullError(disk.reason)
      const full = new AbortController()
      const unlisten = disk.listen(reason => {
        if (reason !== null) full.abort(new DiskFullError(reason))
      })
      try {
        await outlet.put(item, { ...options, signal: AbortSignal.any(signal ? [signal, full.signal] : [full.signal]) })
      } finally {
        unlisten()
      }
    },
  }
}
