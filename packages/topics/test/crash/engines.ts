import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'

export type FreshStore = AsyncDisposable & { readonly url: string }

/** A fresh, empty place for each engine. */
export const ENGINES: readonly { readonly name: string; fresh(): Promise<FreshStore> }[] = [
  {
    name: 'sqlite',
    async fresh() {
      const folder = temporaryFolder()
      return { url: `sqlite:${folder.path}/app.db`, [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() }
    },
  },
  { name: 'postgres', fresh: migratedDatabase },
]
