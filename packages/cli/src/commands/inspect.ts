import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'

export const inspect: Command = {
  name: 'inspect',
  summary: 'Verify and show a batch file, or one tick of a file or run',
  arguments: [{ name: 'file-or-run' }, { name: 'tick', optional: true }],
  options: DATA,
  examples: [
    {
      run: 'tidemark inspect data/storage/<run>/raw/0/0/batch_….pb.zst',
      what: 'its content; exits with 3 if the file is corrupt',
    },
    { run: 'tidemark inspect <run> 1200 --json', what: 'one tick with all its cells and organisms' },
  ],
  run: async (...call) => (await import('../runs/inspect-batch.ts')).inspectBatch(...call),
}
