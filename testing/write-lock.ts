import { DatabaseSync } from 'node:sqlite'

/** Holds the write lock of a SQLite file, as another process would: nobody else can write until it is disposed of. */
export function holdWriteLock(file: string): Disposable {
  const writer = new DatabaseSync(file)
  writer.exec('begin immediate')
  return {
    [Symbol.dispose]() {
      writer.exec('commit')
      writer.close()
    },
  }
}
