import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { engineHooks } from '../../../topics/test/conformance/engine-hooks.ts'

/** Makes messages old and groups dead, in the database itself: waiting for it would take hours. */
export const hooksOf = (url: string) =>
  engineHooks(async ({ sqlite, postgres }) => {
    if (url.startsWith('sqlite:')) {
      using database = new DatabaseSync(url.slice('sqlite:'.length))
      return database.prepare(sqlite).all() as Record<string, unknown>[]
    }
    const client = new pg.Client(url)
    await client.connect()
    try {
      return (await client.query(postgres)).rows
    } finally {
      await client.end()
    }
  })
