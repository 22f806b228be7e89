import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'
import { DATABASE } from '../database.ts'
import { SERVER } from '../server-options.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'Serves topics and indexed runs over HTTP, until Ctrl-C',
  arguments: [],
  options: {
    ...DATABASE,
    index: { value: '<address>', help: 'the indexes of runs: sqlite:<folder> or postgres://…' },
    data: { ...DATA.data, help: "what 'tidemark start' has kept there, where neither --database nor --index is given" },
    ...SERVER,
  },
  examples: [
    {
      run: 'tidemark serve --database postgres://app@db/app',
      what: 'topics, groups, dead letters, and pull consumption',
    },
    { run: 'tidemark serve --data ./data --port 8080', what: 'the topics and the runs of that folder' },
  ],
  endsItself: true,
  run: async (...call) => (await import('../start/serve.ts')).serveAlone(...call),
}
