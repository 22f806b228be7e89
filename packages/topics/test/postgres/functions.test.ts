/** The bundles of functions beside the tables. Through internals where no public call shows a schema of the database. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { migrate, open as openTidemark, schemaVersions } from 'tidemark'
import { migratedDatabase as freshDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { BUNDLE_HASH } from '../../src/stores/postgres/function-bundle.ts'
import { bundleSchemaName, schemaName } from '../../src/stores/postgres/schema-name.ts'
import { executePostgres as execute, SILENT } from '../conformance/stores.ts'
import { otherVersion } from '../upgrade/other-version.ts'
import { functionsSchema } from './functions-schema.ts'

const FUNCTIONS = functionsSchema()
const options = { maintenance: false, logger: SILENT } as const

const schemas = async (url: string): Promise<string[]> =>
  (await execute(url, "select nspname from pg_namespace where nspname ~ '^tidemark' order by 1")).map(row =>
    String(row.nspname),
  )

describe('the functions of a version', () => {
  it('have bodies that the server accepts', async () => {
    await using database = await freshDatabase()
    await migrate(database.url)
    // They were installed unchecked, in whatever order.
    const checked = await execute(
      database.url,
      `select case l.lanname when 'plpgsql' then plpgsql_validator(p.oid)::text else fmgr_sql_validator(p.oid)::text end
       from pg_proc as p join pg_language as l on l.oid = p.prolang where p.pronamespace = '${FUNCTIONS}'::regnamespace`,
    )
    assert.ok(checked.length > 100)
  })

  describe('in their files', () => {
    const folder = new URL('../../src/stores/postgres/functions/', import.meta.url)
    const files = readdirSync(folder).map(name => ({ name, text: readFileSync(new URL(name, folder), 'utf8') }))
    const functions = files.flatMap(({ name, text }) =>
      (text.match(/^create function [\s\S]*?\$\$;$/gm) ?? []).map(body => ({ file: name, body })),
    )
    const nameOf = ({ body }: { body: string }) => body.split('(', 1)[0]

    it('are short enough to be read at a glance', () => {
      assert.ok(functions.length > 100)
      assert.deepEqual(functions.filter(({ body }) => body.split('\n').length > 60).map(nameOf), [])
      assert.deepEqual(
        files.filter(({ text }) => text.split('\n').length > 400).map(({ name }) => name),
        [],
      )
    })

    it('run dynamic SQL only through the helpers', () => {
      const outside = functions.filter(({ file }) => file !== 'dynamic-sql.sql')
      const running = outside.filter(({ body }) => /^[^-]*\bexecute\b/m.test(body)).map(nameOf)
      assert.deepEqual(running, ['create function tidemark_fn.read_rows', 'create function tidemark_fn.read_row'])
    })
  })

  it('are recorded as in use when a program starts, so that nobody drops them', async () => {
    await using database = await freshDatabase()
    await (await openTidemark(database.url, options)).close()
    const age = "update tidemark.function_bundle set last_used_at = now() - interval '6 days'"
    await execute(database.url, age)
    await (await openTidemark(database.url, options)).close()
    const used = "select from tidemark.function_bundle where last_used_at > now() - interval '1 hour'"
    assert.equal((await execute(database.url, used)).length, 1)
  })

  it('are called by no default, index, view or trigger: a bundle can be dropped at any time', async () => {
    await using database = await freshDatabase()
    await using tm = await openTidemark(database.url, options)
    await tm.configureTopic('orders', { semantics: 'pub-sub', tracking: 'reference' })
    const users = await execute(
      database.url,
      `select d.classid::regclass::text as what from pg_depend as d
       join pg_proc as p on d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
       where p.pronamespace = '${FUNCTIONS}'::regnamespace and d.classid <> 'pg_proc'::regclass`,
    )
    assert.deepEqual(users, [])
    const columns = await execute(
      database.url,
      `select c.relname from pg_attribute as a join pg_class as c on c.oid = a.attrelid and c.relkind in ('r', 'p', 'v')
       join pg_type as t on t.oid = a.atttypid where t.typnamespace = '${FUNCTIONS}'::regnamespace`,
    )
    assert.deepEqual(columns, [])
  })

  it('work beside those of another version, on the same tables and for the same group', async () => {
    await using database = await freshDatabase()
    using folder = temporaryFolder()
    const other = await otherVersion(folder.path)
    await using one = await openTidemark(database.url, options)
    await using two = await other.open(database.url, options)
    const hashes = await execute(database.url, 'select hash from tidemark.function_bundle')
    assert.equal(hashes.length, 2)
    assert.equal((await schemas(database.url)).length, 3)

    await one.configureTopic('orders', { semantics: 'pub-sub', tracking: 'reference' })
    const seen: unknown[] = []
    const groups = [one, two].map(tm => {
      const group = tm.consumerGroup('orders', 'email', { batchSize: 5 })
      group.addConsumer('c', async ({ payload }) => void seen.push(payload))
      return group
    })
    for (const group of groups) await group.start({ from: 'beginning' })
    const done = Promise.withResolvers<void>()
    for (const tm of [one, two]) tm.on('acked', () => seen.length >= 200 && done.resolve())
    for (let n = 0; n < 100; n++) await Promise.all([one.publish('orders', n), two.publish('orders', 100 + n)])
    await done.promise
    assert.deepEqual(
      seen.map(Number).sort((a, b) => a - b),
      Array.from({ length: 200 }, (_, n) => n),
    )
    for (const group of groups) await group.stop()
  })

  it('are reinstalled under a running program, if somebody has dropped them', async () => {
    await using database = await freshDatabase()
    await using tm = await openTidemark(database.url, options)
    await tm.configureTopic('work')
    const reader = tm.reader('work')
    await tm.publish('work', 1)
    await execute(database.url, `drop schema ${FUNCTIONS} cascade`)
    const delivery = await reader.poll(5_000)
    assert.equal(delivery?.payload, 1)
    await execute(database.url, `drop schema ${FUNCTIONS} cascade`)
    if (delivery) await reader.ack(delivery)
    await execute(database.url, `drop schema ${FUNCTIONS} cascade`)
    assert.equal((await tm.admin.topics()).length, 1)
    assert.equal(await reader.poll(0), null)
  })

  it('are installed at the next start if a dump brought the tables alone', async () => {
    await using database = await freshDatabase()
    {
      await using tm = await openTidemark(database.url, options)
      await tm.publish('work', 1)
    }
    await execute(database.url, `drop schema ${FUNCTIONS} cascade`)
    assert.equal((await schemaVersions(database.url)).hasFunctions, false)
    await using tm = await openTidemark(database.url, options)
    assert.equal((await tm.reader('work').poll(0))?.payload, 1)
    assert.equal((await schemaVersions(database.url)).hasFunctions, true)
  })

  it('are reinstalled if a namespace dropped by hand left only a part of them', async () => {
    await using database = await freshDatabase()
    await (await openTidemark(database.url, options)).close()
    await execute(database.url, 'drop schema tidemark cascade')
    assert.deepEqual(await schemas(database.url), [bundleSchemaName('tidemark', BUNDLE_HASH)])
    await using tm = await openTidemark(database.url, options)
    await tm.publish('work', 1)
    assert.equal((await tm.reader('work').poll(0))?.payload, 1)
  })

  it('are dropped once no process has used them for a week, and with the namespace', async () => {
    await using database = await freshDatabase()
    const tm = await openTidemark(database.url, options)
    await tm.configureTopic('work')
    for (const [hash, days] of Object.entries({ '0000000001': 8, '0000000002': 6 })) {
      await execute(database.url, `create schema "tidemark#fn_${hash}"`)
      await execute(
        database.url,
        `insert into tidemark.function_bundle (hash, last_used_at) values ('${hash}', now() - interval '${days} days')`,
      )
    }
    // Of no version that is known, and of another namespace.
    await execute(database.url, 'create schema "tidemark#fn_0000000003"')
    await execute(database.url, 'create schema "tidemark_x#fn_0000000001"')
    await migrate(database.url)
    const own = bundleSchemaName('tidemark', BUNDLE_HASH)
    const kept = ['tidemark', own, 'tidemark#fn_0000000002', 'tidemark_x#fn_0000000001']
    assert.deepEqual(await schemas(database.url), kept.sort())
    assert.equal((await execute(database.url, 'select from tidemark.function_bundle')).length, 2)

    await tm.dropNamespace()
    assert.deepEqual(await schemas(database.url), ['tidemark_x#fn_0000000001'])
    await tm.close()
  })

  it('have a schema of their own for every namespace, however long its name', () => {
    const longest = ['n'.repeat(40), 'n'.repeat(41), 'n'.repeat(128), `${'n'.repeat(127)}m`, 'default'].map(schemaName)
    const names = longest.map(name => bundleSchemaName(name, BUNDLE_HASH))
    assert.equal(new Set([...names, ...longest]).size, 10)
    for (const name of names) assert.ok(Buffer.byteLength(name) <= 63, name)
  })
})
