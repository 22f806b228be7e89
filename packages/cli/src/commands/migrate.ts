import { migrate as migrateNamespace, type SchemaVersions, schemaVersions } from 'tidemark'
import type { Command } from '../command.ts'
import { DATABASE, databaseOf } from '../database.ts'
import { EXIT } from '../exit-codes.ts'
import { table } from '../output/table.ts'

type Versions = { readonly what: string; readonly found: number; readonly newest: number }

export const migrate: Command = {
  name: 'migrate',
  summary: 'Brings the schema up to date: of the topics, or of the indexes of runs',
  arguments: [],
  options: {
    index: {
      value: '<address>',
      help: 'the indexes of all runs at sqlite:<folder> or postgres://… instead of the topics',
    },
    check: { help: 'looks only, and ends with 3 where something is to be done' },
    ...DATABASE,
  },
  examples: [
    { run: 'tidemark migrate --database sqlite:./data/topics.db', what: 'makes the namespace where there is none' },
    { run: 'tidemark migrate --index sqlite:./data/index --check', what: 'which runs have an older schema' },
  ],
  run: async (given, surroundings) => {
    const looksOnly = given.flag('check')
    const address = given.text('index')
    const looking =
      address === undefined ? topics(databaseOf(given, surroundings), looksOnly) : indexes(address, looksOnly)
    const versions = await surroundings.output.liveLine().during(looksOnly ? 'looking' : 'migrating', looking)
    const isBehind = versions.some(({ found, newest }) => found !== newest)
    const didSomething = isBehind && !looksOnly
    surroundings.output.result({ migrated: didSomething, versions }, () => [
      ...table(
        ['what', 'version found', 'newest'],
        versions.map(({ what, found, newest }) => [what, found === 0 ? 'none' : String(found), newest]),
      ),
      didSomething ? 'brought up to date' : isBehind ? 'something is to be done' : 'nothing is to be done',
    ])
    return isBehind && looksOnly ? EXIT.found : EXIT.done
  },
}

async function topics(
  { url, namespace }: { readonly url: string; readonly namespace: string },
  looksOnly: boolean,
): Promise<Versions[]> {
  const found: SchemaVersions = await (looksOnly ? schemaVersions : migrateNamespace)(url, { namespace })
  return [{ what: `namespace '${namespace}' at ${found.location}`, found: found.found, newest: found.newest }]
}

async function indexes(address: string, looksOnly: boolean): Promise<Versions[]> {
  const { indexVersions, migrateIndexes } = await import('@tidemark/pipeline')
  const found = await (looksOnly ? indexVersions : migrateIndexes)(address)
  return found.map(({ runId, ...versions }) => ({ what: `index of run ${runId}`, ...versions }))
}
