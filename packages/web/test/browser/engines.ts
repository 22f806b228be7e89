import { join } from 'node:path'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'

/** `npm run test:web`: every journey, on both engines. `npm test` runs the short ones, on SQLite. */
const isWeb = process.env.TIDEMARK_TEST_WEB === '1'

export type Engine = {
  readonly name: 'SQLite' | 'PostgreSQL'
  fresh(): Promise<{ readonly url: string; drop(): Promise<void> }>
}

export const SQLITE: Engine = {
  name: 'SQLite',
  fresh: async () => {
    const folder = temporaryFolder()
    return { url: `sqlite:${join(folder.path, 'app.db')}`, drop: async () => folder[Symbol.dispose]() }
  },
}

const POSTGRES: Engine = { name: 'PostgreSQL', fresh: async () => await migratedDatabase() }

export const ENGINES: readonly Engine[] = isWeb ? [SQLITE, POSTGRES] : [SQLITE]
