import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'

export const runs: Command = {
  name: 'runs',
  summary: 'Lists the runs that are stored, or shows one',
  arguments: [{ name: 'run', optional: true }],
  options: {
    ...DATA,
    index: { value: '<address>', help: 'the indexes, where they are not in the data folder' },
  },
  examples: [
    { run: 'tidemark runs --data ./data', what: 'when each began, what is stored of it, and whether it is indexed' },
  ],
  run: async (...call) => (await import('../runs/list-runs.ts')).listStoredRuns(...call),
}
