import { freshDatabase, temporaryFolder } from '../../../testing/databases.ts'

export type TestDatabase = AsyncDisposable & { readonly url: string }

/** The same commands on every engine. */
export const ENGINES: readonly { readonly engine: string; fresh(): Promise<TestDatabase> }[] = [
  {
    engine: 'SQLite',
    fresh: async () => {
      const folder = temporaryFolder()
      return { url: `sqlite:${folder.path}/app.db`, [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() }
    },
  },
  { engine: 'PostgreSQL', fresh: freshDatabase },
]

export const QUIET = { debug() {}, info() {}, warn() {}, error() {} }
