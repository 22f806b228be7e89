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
import { BUILT_IN_TYPES } from './src/services/registry.ts'

export const PAGE = fileURLToPath(new URL('../../docs/configuration.md', import.meta.url))

/** Changed by hand here; everything below the introduction follows from the tables. */
const INTRODUCTION = `# Configuration

<!-- Made by packages/pipeline/configuration-reference.ts (npm run generate). Change the option tables, not this page. -->

\`tidemark.config.ts\` says which resources there are, which services use them, and how. It is checked as a whole before
anything starts: an error names the file, the path of the option, its value, and what is allowed. Names that are unknown
are refused.

\`\`\`ts
import { defineConfig, queue, storageRead } from '@tidemark/pipeline'

export default defineConfig({
  resources: {
    storages: { ticks: { root: './data/storage' } },
    queues: { 'tick-queue': { maxItems: 500 } },
  },
  services: {
    collector: { type: './my-collector.ts', bindings: { ticks: queue('tick-queue') } },
    simulation: {
      type: 'simulation',
      thread: true,
      bindings: { ticks: queue('tick-queue'), storage: storageRead('ticks') },
      options: { seed: 'tidemark', shape: [100, 100] },
    },
  },
})
\`\`\`

Services start in the order in which they are written and stop in reverse, so what takes from a queue comes before what
puts into it. A service that can't start, or fails later, is in \`ERROR\`; the others go on. What a service needs and is not there yet (a
database, a storage, the run's metadata) is waited for, and the service goes on by itself ([pipeline.md](pipeline.md#when-something-fails)). Where a pipeline has one
simulation, every service that takes a \`runId\` and has none of its own works on the simulation's run. Paths are
relative to the working folder, modules of service types to the configuration file.

## The environment

A variable goes over the file's setting. One that meets nothing is refused, since it is most often misspelt. Lists,
numbers, \`true\` and \`false\` are written as in JSON.

| variable | sets |
| --- | --- |
| \`${PREFIX}SERVICES__<SERVICE>__<OPTION>\` | an option of a service, or its \`enabled\` or \`thread\` |
| \`${PREFIX}RESOURCES__TOPICS__<OPTION>\` | an option of the topics |
| \`${PREFIX}RESOURCES__<STORAGES, INDEXES or QUEUES>__<NAME>__<OPTION>\` | an option of a resource |
| \`${PREFIX}${Object.keys(PIPELINE_OPTIONS).map(screaming).join(`\`, \`${PREFIX}`)}\` | the pipeline's own |

\`tick-queue\` is \`TICK_QUEUE\` and \`maxItems\` is \`MAX_ITEMS\`:
\`${PREFIX}RESOURCES__QUEUES__TICK_QUEUE__MAX_ITEMS=100\`.

## A service type of your own

The \`type\` is the path of a module whose default export is \`defineService({ says, options, bindings, create })\`.
\`options\` is a table like those below (\`text\`, \`whole\`, \`number\`, \`flag\`, \`duration\`, \`choice\`, \`runId\`, or \`rule\`),
\`bindings\` says what it needs, and \`create\` gets the checked options and the bound resources and returns a \`Service\`.
\`packages/pipeline/test/services/scripts/collector.ts\` is one.
`

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
