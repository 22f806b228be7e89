import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { conformance, testDatabase } from 'tidemark/conformance'

/** Those that use most of the library. All of them take a quarter of an hour. */
const suites = [
  'publishing',
  'writeAndRead',
  'readers',
  'claims',
  'settling',
  'consumerGroups',
  'payloads',
  'adminDeadLetters',
]

conformance(
  {
    name: 'SQLite',
    isShared: true,
    async fresh() {
      const folder = mkdtempSync(join(tmpdir(), 'tidemark-conformance-'))
      return testDatabase(`sqlite:${join(folder, 'app.db')}`, {
        remove: async () => rmSync(folder, { recursive: true, force: true }),
      })
    },
  },
  { suites },
)

conformance(
  {
    name: 'PostgreSQL',
    isShared: true,
    async fresh() {
      const name = `conformance_${randomBytes(8).toString('hex')}`
      await execute(`create database ${name} template template0 strategy file_copy`)
      const url = new URL(process.env.TIDEMARK_TEST_POSTGRES_URL)
      url.pathname = name
      return testDatabase(url.href, {
        remove: () => execute(`drop database if exists ${name} with (force)`),
      })
    },
  },
  { suites },
)

async function execute(sql) {
  const client = new pg.Client(process.env.TIDEMARK_TEST_POSTGRES_URL)
  await client.connect()
  await client.query(sql)
  await client.end()
}
