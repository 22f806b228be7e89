import { migrate as migrateNamespace, migrationSql, type SchemaVersions, schemaVersions } from 'tidemark'
import type { Command } from '../command.ts'
import { DATABASE, databaseOf } from '../database.ts'
import { UsageError } from '../errors.ts'
import { EXIT } from '../exit-codes.ts'
import { table } from '../output/table.ts'

type Versions = {
  readonly what: string
  readonly found: number
  readonly newest: number
  /** Whether the database has the functions that this version calls. */
  readonly hasFunctions: boolean
}

export const migrate: Command = {
  name: 'migrate',
  summary: 'Upgrade the schema of the topics or of the run indexes',
  arguments: [],
  options: {
    index: {
      value: '<address>',
      help: 'upgrade all run indexes at sqlite:<folder> or postgres://… instead of the topics',
    },
    check: { help: 'only check; exit with 3 if an upgrade is required' },
    sql: { help: 'print the SQL of the upgrade instead of running it, for psql or the sqlite3 shell' },
    ...DATABASE,
  },
  examples: [
    { run: 'tidemark migrate --database sqlite:./data/topics.db', what: 'creates the namespace if it does not exist' },
    { run: 'tidemark migrate --sql | psql --dbname shop', what: 'upgrade as a database administrator' },
    { run: 'tidemark migrate --index sqlite:./data/index --check', what: 'list runs with an older schema' },
  ],
  run: async (given, surroundings) => {
    const looksOnly = given.flag('check')
    const address = given.text('index')
    if (given.flag('sql')) return await printSql(given, surroundings)
    const looking =
      address === undefined ? topics(databaseOf(given, surroundings), looksOnly) : indexes(address, looksOnly)
    const versions = await surroundings.output.liveLine().during(looksOnly ? 'looking' : 'migrating', looking)
    const isBehind = versions.some(({ found, newest, hasFunctions }) => found !== newest || !hasFunctions)
    const didSomething = isBehind && !looksOnly
    surroundings.output.result({ migrated: didSomething, versions }, () => [
      ...table(
        ['schema', 'version', 'newest', 'functions'],
        versions.map(({ what, found, newest, hasFunctions }) => [
          what,
          found === 0 ? 'none' : String(found),
          newest,
          hasFunctions ? 'installed' : 'missing',
        ]),
      ),
      didSomething ? 'upgraded' : isBehind ? 'an upgrade is required' : 'up to date',
    ])
    return isBehind && looksOnly ? EXIT.found : EXIT.done
  },
}

const printSql: Command['run'] = async (given, surroundings) => {
  const other = ['index', 'check'].find(option => given.text(option) !== undefined || given.flag(option))
  if (other !== undefined) throw new UsageError(`--sql can't be combined with --${other}`)
  const { url, namespace } = databaseOf(given, surroundings)
  const sql = await migrationSql(url, { namespace })
  surroundings.output.result({ sql }, () => (sql === '' ? ['-- up to date'] : sql.trimEnd().split('\n')))
  return EXIT.done
}

async function topics(
  { url, namespace }: { readonly url: string; readonly namespace: string },
  looksOnly: boolean,
): Promise<Versions[]> {
  const versions: SchemaVersions = await (looksOnly ? schemaVersions : migrateNamespace)(url, { namespace })
  const { location, found, newest, hasFunctions } = versions
  return [{ what: `namespace '${namespace}' at ${location}`, found, newest, hasFunctions }]
}

async function indexes(address: string, looksOnly: boolean): Promise<Versions[]> {
  const { indexVersions, migrateIndexes } = await import('@tidemark/pipeline')
  const found = await (looksOnly ? indexVersions : migrateIndexes)(address)
  return found.map(({ runId, ...versions }) => ({ what: `index of run ${runId}`, ...versions, hasFunctions: true }))
}
