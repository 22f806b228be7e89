import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'

export const inspect: Command = {
  name: 'inspect',
  summary: 'Verifies a batch file and shows it, or a tick of it, or a tick of a run',
  arguments: [{ name: 'file-or-run' }, { name: 'tick', optional: true }],
  options: DATA,
  examples: [
    { run: 'tidemark inspect data/storage/<run>/raw/0/0/batch_….pb.zst', what: 'what is in it; 3 where it is corrupt' },
    { run: 'tidemark inspect <run> 1200 --json', what: 'a tick with all its cells and organisms' },
  ],
  run: async (...call) => (await import('../runs/inspect-batch.ts')).inspectBatch(...call),
}
