import { type Command, YES } from '../command.ts'
import { CONFIG } from '../config-option.ts'
import { DATA } from '../data-option.ts'

export const runs: Command = {
  name: 'runs',
  summary: 'List the stored runs, or show one',
  arguments: [{ name: 'run', optional: true }],
  options: {
    ...DATA,
    ...CONFIG,
    index: {
      value: '<address>',
      help: 'URL of the indexes: sqlite:<folder> or postgres://… (default: in the data folder)',
    },
  },
  examples: [
    { run: 'tidemark runs --data ./data', what: 'start time, stored ticks and indexed ticks of each run' },
    { run: 'tidemark runs --config tidemark.config.ts', what: 'those of a pipeline of your own' },
  ],
  run: async (...call) => (await import('../runs/list-runs.ts')).listStoredRuns(...call),
}

/** The `list` that every other noun of the command line has. */
export const list: Command = {
  ...runs,
  name: 'runs list',
  summary: 'List the stored runs',
  arguments: [],
  examples: [{ run: 'tidemark runs list --json', what: 'the same as a JSON document' }],
}

export const remove: Command = {
  name: 'runs remove',
  summary: 'Remove a run: its files, topics and groups, index, saved states and dead letters',
  arguments: [{ name: 'run' }],
  options: { ...YES, ...DATA, ...CONFIG },
  examples: [{ run: 'tidemark runs remove <run> --yes', what: 'no confirmation; a run in use is refused' }],
  run: async (...call) => (await import('../runs/remove-run.ts')).removeStoredRun(...call),
}
