/** Writes docs/configuration.md from the tables that configurations are checked with: `npm run generate`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type BindingTable, WRITTEN_AS } from './src/config/bindings.ts'
import { PREFIX, screaming } from './src/config/environment-overrides.ts'
import type { OptionRule, OptionTable } from './src/config/option-table.ts'
import {
  INDEX_OPTIONS,
  PIPELINE_OPTIONS,
  QUEUE_OPTIONS,
  SERVICE_OPTIONS,
  STORAGE_OPTIONS,
  TOPICS_OPTIONS,
} from './src/config/resource-tables.ts'
import { CONFIG_TEMPLATE } from './src/config/template.ts'
import { ANNOUNCEMENT_SETTINGS, TOPIC_SETTINGS } from './src/config/topic-settings.ts'
import { BUILT_IN_TYPES } from './src/services/registry.ts'

export const PAGE = fileURLToPath(new URL('../../docs/configuration.md', import.meta.url))

/** Changed by hand here; everything below the introduction follows from the tables. */
const INTRODUCTION = `# Configuration

<!-- Made by packages/pipeline/configuration-reference.ts (npm run generate). Change the option tables, not this page. -->

\`tidemark.config.ts\` says which resources there are, which services use them, and how. \`tidemark start\` runs the one in its
folder, or the one that \`--config\` names, with the server; without one it runs the default pipeline. \`tidemark config init\` writes
this one, which is that default:

\`\`\`ts
${CONFIG_TEMPLATE}\`\`\`

| command | what it does |
| --- | --- |
| \`tidemark config init\` | writes the configuration above into this folder; an existing one is never overwritten |
| \`tidemark config check\` | tells every mistake, and ends with 3 where there is one |
| \`tidemark config print\` | shows what is in force: defaults filled in, environment applied, passwords masked |
| \`tidemark start\` | runs it; \`--only <service>\` runs some of its services, \`--new\`, \`--ticks\` and \`--ingest\` work as without one |

It is checked as a whole before anything starts: an error names the file, the path of the option, its value, and what is allowed. Names that
are unknown are refused, and so is what could not work: a topic that is read and never written, a queue that nobody empties, two
different indexers in one consumer group, an index that nobody uses. \`resources.topics.external\` lists topics that other programs
write or read.

Services start in the order in which they are written and stop in reverse, so what takes from a queue comes before what
puts into it. A service that can't start, or fails later, is in \`ERROR\`; the others go on. What a service needs and is not there yet (a
database, a storage, the run's metadata) is waited for, and the service goes on by itself ([pipeline.md](pipeline.md#when-something-fails)). Where a pipeline has one
simulation, every service that takes a \`runId\` and has none of its own works on the simulation's run. Paths are
relative to the configuration file; those in the environment are relative to the working folder. The file may be TypeScript or
JavaScript, an ES module or CommonJS, and may be in a folder that has no packages installed.

## Two machines

Topics and indexes on a PostgreSQL that both machines reach, batch files in a folder that both see (NFS, or any shared mount). Both have
the same configuration, which is the one above with

\`\`\`ts
const topics = process.env.DATABASE_URL ?? ''
const indexes = process.env.DATABASE_URL ?? ''
const storage = '/mnt/shared/ticks'
\`\`\`

\`\`\`sh
# on both: a password belongs into the environment, not into the file
export DATABASE_URL=postgres://tidemark:secret@db.internal/tidemark

# machine A: the simulation and everything else
tidemark start --config tidemark.config.ts

# machine B: shares the work of two indexers on the newest run
tidemark start --config tidemark.config.ts --only environment-indexer --only organism-indexer
\`\`\`

Services of one consumer group compete: each batch is indexed by one of them, under a lease. When B is killed, what it had in
hand is redelivered to A after the lease (\`lease\`), and the index is the same in the end (\`packages/cli/test/two-machines.test.ts\`). B
works on the newest run that is stored when it starts; \`--run <id>\` names another, \`--run next\` waits for one to begin. A queue is in the
memory of one process: what puts into it and what takes from it run on the same machine, and the check says so where they don't.

## The environment

A variable goes over the file's setting. One that meets nothing is refused, since it is most often misspelt. Lists,
numbers, \`true\` and \`false\` are written as in JSON.

| variable | sets |
| --- | --- |
| \`${PREFIX}SERVICES__<SERVICE>__<OPTION>\` | an option of a service, or its \`enabled\` or \`thread\` |
| \`${PREFIX}RESOURCES__TOPICS__<OPTION>\` | an option of the topics |
| \`${PREFIX}RESOURCES__<STORAGES, INDEXES or QUEUES>__<NAME>__<OPTION>\` | an option of a resource |
| \`${PREFIX}${Object.keys(PIPELINE_OPTIONS).map(screaming).join(`\`, \`${PREFIX}`)}\` | the pipeline's own |

\`environment-indexer\` is \`ENVIRONMENT_INDEXER\` and \`maxItems\` is \`MAX_ITEMS\`:
\`${PREFIX}RESOURCES__QUEUES__TICKS__MAX_ITEMS=100\`.

## A service type of your own

The \`type\` is the path of a module whose default export is \`defineServiceType({ says, options, bindings, check, create })\`; for an
indexer it is \`defineIndexerType(definition)\` ([writing-an-indexer.md](writing-an-indexer.md)), and has all options of those below.

| part | what it is |
| --- | --- |
| \`options\` | a table like those below (\`text\`, \`whole\`, \`number\`, \`flag\`, \`duration\`, \`choice\`, \`runId\`, or \`rule\`). One named \`runId\` is set to the run of the pipeline where the configuration leaves it out |
| \`bindings\` | what it needs, by name: \`{ ticks: { kind: 'queue-in', says: '…' } }\`. Kinds: ${Object.keys(
  WRITTEN_AS,
)
  .map(kind => `\`${kind}\``)
  .join(', ')} |
| \`check\` | throws a \`ConfigError\` where options and bindings do not go together; optional |
| \`create\` | gets the checked options and the bound resources, and returns a \`Service\` |

\`resources.reader('orders')\` and \`resources.writer('orders')\` give a reader or a writer of a bound topic, \`resources.storage(…)\`, \`index(…)\`,
\`queue(…)\` and \`outlet(…)\` the rest. What goes through a binding is counted: \`pipeline.status()\` has it in the service's \`bindings\`. Health is that
of every service ([pipeline.md](pipeline.md#health)). \`packages/pipeline/test/services/scripts/collector.ts\` is one.
`

const TOPIC_SETTINGS_TEXT =
  'What is left out has the default of [configureTopic](../README.md). Of announcements (`batch-topic`, `metadata-topic`), of which ' +
  `each run has its own, ${ANNOUNCEMENT_SETTINGS.map(name => `\`${name}\``).join(', ')} can be set.`

export function referencePage(): string {
  const services = Object.entries(BUILT_IN_TYPES).map(([name, { says, options, bindings }]) =>
    [`### \`${name}\``, says, bindingRows(bindings), optionRows(options)].join('\n\n'),
  )
  const parts = [
    INTRODUCTION,
    '## The pipeline',
    optionRows(PIPELINE_OPTIONS),
    '## Resources',
    '### `resources.topics`',
    optionRows(TOPICS_OPTIONS),
    '#### `resources.topics.settings.<topic>`',
    TOPIC_SETTINGS_TEXT,
    optionRows(TOPIC_SETTINGS),
    '### `resources.storages.<name>`',
    optionRows(STORAGE_OPTIONS),
    '### `resources.indexes.<name>`',
    optionRows(INDEX_OPTIONS),
    '### `resources.queues.<name>`',
    optionRows(QUEUE_OPTIONS),
    '## Services',
    'Beside its `type`, `bindings` and `options`, `services.<name>` has:',
    optionRows(SERVICE_OPTIONS),
    ...services,
  ]
  return `${parts.join('\n\n').replaceAll('\n\n\n', '\n\n')}\n`
}

function optionRows(table: OptionTable): string {
  const rows = Object.entries(table).map(
    ([name, rule]) => `| \`${name}\` | ${defaultOf(rule)} | ${rule.allowed} | ${rule.says} |`,
  )
  return rows.length === 0
    ? 'No options.'
    : ['| option | default | allowed | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function defaultOf({ default: value, otherwise, required }: OptionRule): string {
  if (required) return 'required'
  return value === undefined ? (otherwise ?? 'none') : `\`${written(value)}\``
}

const written = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : JSON.stringify(value).replaceAll(',', ', ')

function bindingRows(table: BindingTable): string {
  const rows = Object.entries(table).map(
    ([name, { kind, says, optional }]) =>
      `| \`${name}\` | \`${WRITTEN_AS[kind]}\` | ${optional ? 'optional' : 'required'} | ${says} |`,
  )
  return ['| binding | written | | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

if (import.meta.main) writeFileSync(PAGE, referencePage())
