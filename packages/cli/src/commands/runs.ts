import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'

export const runs: Command = {
  name: 'runs',
  summary: 'List the stored runs, or show one',
  arguments: [{ name: 'run', optional: true }],
  options: {
    ...DATA,
    index: {
      value: '<address>',
      help: 'URL of the indexes: sqlite:<folder> or postgres://… (default: in the data folder)',
    },
  },
  examples: [{ run: 'tidemark runs --data ./data', what: 'start time, stored ticks and indexed ticks of each run' }],
  run: async (...call) => (await import('../runs/list-runs.ts')).listStoredRuns(...call),
}
