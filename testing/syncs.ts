import fs from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/** Where a sync is made: in the background, or on the thread that waits for it. */
export type SyncKind = 'background' | 'direct'

/** Calls `before` ahead of every fdatasync of this process. The sync fails with what that throws; otherwise it is really made. */
export async function interceptSyncs(before: (kind: SyncKind, fd: number) => void): Promise<Disposable> {
  const file = await open(import.meta.filename)
  const prototype = Object.getPrototypeOf(file) as FileHandle
  await file.close()
  const { datasync } = prototype
  const { fdatasyncSync } = fs
  prototype.datasync = async function (this: FileHandle) {
    before('background', this.fd)
    await datasync.call(this)
  }
  fs.fdatasyncSync = fd => {
    before('direct', fd)
    fdatasyncSync(fd)
  }
  syncBuiltinESMExports()
  return {
    [Symbol.dispose]() {
      prototype.datasync = datasync
      fs.fdatasyncSync = fdatasyncSync
      syncBuiltinESMExports()
    },
  }
}

/** As a disk reports it. */
export const syncFailure = (): Error =>
  Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', errno: -5, syscall: 'fdatasync' })
