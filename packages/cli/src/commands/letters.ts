import { type Command, type CommandOptionTable, YES } from '../command.ts'
import { CONFIG } from '../config-option.ts'
import { DATA } from '../data-option.ts'

const ID = { name: 'id', optional: true, many: true } as const
const LOCATIONS: CommandOptionTable = { ...DATA, ...CONFIG }

const FILTER: CommandOptionTable = {
  kind: { value: '<kind>', help: 'tick, metadata, batch or other' },
  service: { value: '<name>', help: 'service or indexer that gave them up' },
  run: { value: '<run>', help: 'dead letters of one run' },
  reason: { value: '<text>', help: 'text that the reason contains' },
}
const WHICH: CommandOptionTable = { ...FILTER, all: { help: 'every dead letter of the pipeline' } }

export const list: Command = {
  name: 'letters list',
  summary: 'List ticks, metadata and batches that the pipeline gave up',
  arguments: [],
  options: { ...FILTER, limit: { value: '<n>', help: 'maximum number of dead letters (default 100)' }, ...LOCATIONS },
  examples: [
    { run: 'tidemark letters list --kind batch', what: 'batches that an indexer could not index, with the file' },
  ],
  run: async (...call) => (await import('../letters/letters.ts')).listLetters(...call),
}

export const inspect: Command = {
  name: 'letters inspect',
  summary: 'Show a dead letter of the pipeline: reason, file and stack',
  arguments: [{ name: 'id' }],
  options: LOCATIONS,
  examples: [{ run: 'tidemark letters inspect <id>', what: "the id is in 'tidemark letters list'" }],
  run: async (...call) => (await import('../letters/letters.ts')).inspectLetter(...call),
}

export const redrive: Command = {
  name: 'letters redrive',
  summary: 'Store given-up ticks and index given-up batches again',
  arguments: [ID],
  options: { ...WHICH, ...LOCATIONS },
  examples: [
    { run: 'tidemark letters redrive --service environment', what: 'batches of one indexer, once it is cured' },
  ],
  run: async (...call) => (await import('../letters/letters.ts')).redriveLetters(...call),
}

export const discard: Command = {
  name: 'letters discard',
  summary: 'Delete dead letters of the pipeline permanently',
  arguments: [ID],
  options: { ...WHICH, ...YES, ...LOCATIONS },
  examples: [{ run: 'tidemark letters discard <id> --yes', what: 'one dead letter, without confirmation' }],
  run: async (...call) => (await import('../letters/letters.ts')).discardLetters(...call),
}

export const failed: Command = {
  name: 'letters failed',
  summary: 'List batches of a run that indexers gave up in their ledgers',
  arguments: [{ name: 'run' }],
  options: { indexer: { value: '<name>', help: 'batches of one indexer' }, ...LOCATIONS },
  examples: [{ run: 'tidemark letters failed <run>', what: 'those of indexers with the source storage' }],
  run: async (...call) => (await import('../letters/failed-batches.ts')).listFailed(...call),
}

export const retry: Command = {
  name: 'letters retry',
  summary: 'Retry failed batches',
  arguments: [{ name: 'run' }, { name: 'key', optional: true, many: true }],
  options: {
    indexer: { value: '<name>', help: 'batches of one indexer' },
    all: { help: 'every failed batch of the run' },
    ...LOCATIONS,
  },
  examples: [{ run: 'tidemark letters retry <run> --all', what: 'every failed batch of every indexer' }],
  run: async (...call) => (await import('../letters/failed-batches.ts')).retryFailedBatches(...call),
}
