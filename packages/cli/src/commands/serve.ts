import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'
import { DATABASE } from '../database.ts'
import { SERVER } from '../server-options.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'Serve topics and indexed runs over HTTP until Ctrl-C',
  arguments: [],
  options: {
    ...DATABASE,
    index: {
      value: '<address>',
      help: 'URL of the run indexes: sqlite:<folder> or postgres://… (default: $TIDEMARK_INDEX)',
    },
    data: {
      ...DATA.data,
      help: "data folder of 'tidemark start', used without --database and --index (default ./data)",
    },
    ...SERVER,
  },
  examples: [
    {
      run: 'tidemark serve --database postgres://app@db/app',
      what: 'topics, groups, dead letters and pull consumption',
    },
    { run: 'tidemark serve --data ./data --port 8080', what: 'topics and runs of a data folder' },
  ],
  endsItself: true,
  run: async (...call) => (await import('../start/serve.ts')).serveAlone(...call),
}
