/**
 * Writes the dumps that upgrading.test.ts upgrades: a namespace of this version's schema, with data. To be run once for each
 * released schema, and again before the first release whenever 001_*.sql was edited:
 *
 *   node --conditions=tidemark-source packages/topics/test/upgrade/make-dumps.ts postgres://…   (an empty database; pg_dump in PATH)
 */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { open, schemaVersions } from 'tidemark'
import { SILENT } from '../conformance/stores.ts'
import { fill } from './fill.ts'

const [url = ''] = process.argv.slice(2)
const file = join(tmpdir(), `tidemark-dump-${process.pid}.db`)
const options = { maintenance: false, logger: SILENT } as const

await fill(await open(url, options))
const flags = ['--schema=tidemark', '--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges']
const dumped = execFileSync('pg_dump', [...flags, url], { encoding: 'utf8' })
// Only psql knows its own commands.
await write('postgres', url, dumped.replaceAll(/^\\.*\n/gm, ''))

await fill(await open(`sqlite:${file}`, options))
await write('sqlite', `sqlite:${file}`, dumpSqlite(file))
for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
// Without closing: the leases stay as a process that was killed leaves them.
process.exit(0)

async function write(engine: string, address: string, sql: string): Promise<void> {
  const { found } = await schemaVersions(address)
  writeFileSync(new URL(`dumps/schema-${found}.${engine}.sql`, import.meta.url), sql)
}

function dumpSqlite(path: string): string {
  using db = new DatabaseSync(path)
  const made = db
    .prepare(
      "select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite\\_%' escape '\\' order by rowid",
    )
    .all()
  const inserts = made
    .filter(({ type }) => type === 'table')
    .flatMap(({ name }) => {
      const columns = db
        .prepare('select name from pragma_table_info(?)')
        .all(String(name))
        .map(column => `"${column.name}"`)
      const values = columns.map(column => `quote(${column})`).join(" || ', ' || ")
      return db
        .prepare(`select ${values} as row from "${name}"`)
        .all()
        .map(({ row }) => `insert into "${name}" (${columns.join(', ')}) values (${row});`)
    })
  // Views and indexes after the rows, as .dump does.
  const definitions = (isTable: boolean) =>
    made.filter(({ type }) => (type === 'table') === isTable).map(({ sql }) => `${sql};`)
  return [...definitions(true), ...inserts, ...definitions(false), ''].join('\n')
}
