/** The toy engine as `conformance()` takes it. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type ConformanceStore, testDatabase } from 'tidemark/conformance'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { engineHooks, type Statement } from '../conformance/engine-hooks.ts'
import './toy-engine.ts'

export const toyStore: ConformanceStore & { readonly isShared: boolean } = {
  name: 'an engine outside the package',
  isShared: true,
  nodeFlags: [`--import=${new URL('toy-engine.ts', import.meta.url)}`],
  lacks: { operator: 'the toy has none', 'concurrent transactions': 'SQLite has one writer at a time' },
  async fresh() {
    const folder = temporaryFolder()
    const path = join(folder.path, 'toy.db')
    const execute = async ({ sqlite }: Statement): Promise<Record<string, unknown>[]> => {
      using db = new DatabaseSync(path, { timeout: 5_000 })
      return db.prepare(sqlite).all()
    }
    return testDatabase(`toy:${path}`, { ...engineHooks(execute), remove: async () => folder[Symbol.dispose]() })
  },
}
