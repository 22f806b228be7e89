import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'
import { SERVER } from '../server-options.ts'

export const start: Command = {
  name: 'start',
  summary: 'Run a pipeline and its HTTP server: the default one on this machine, or that of a configuration',
  arguments: [],
  options: {
    ...DATA,
    config: {
      value: '<file>',
      help: 'configuration to run (default: tidemark.config.ts of this folder, if there is one)',
    },
    'no-config': { help: 'run the default pipeline even if there is a configuration in this folder' },
    only: { value: '<service>', help: 'service of the configuration to run; all others are left out', many: true },
    run: {
      value: '<run>',
      help: "run to work on: an id, 'newest' (default where no simulation runs here) or 'next' (the next to begin)",
    },
    new: { help: 'start a new run instead of continuing the newest' },
    ticks: { value: '<n>', help: 'number of ticks to simulate and index before exiting (default: until Ctrl-C)' },
    ingest: {
      value: '<run>',
      help: "accept the ticks of this run over HTTP (docs/reference/http.md) instead of simulating; 'new' creates and prints a run id",
    },
    'max-disk': {
      value: '<size>',
      help: "disk budget, such as 10GB, or 'none' (default 2GB); see --keep",
    },
    keep: {
      value: '<duration|ticks>',
      help: "remove data older than this, such as 1h or 100000 ticks; 'fits' removes the oldest when the disk budget is nearly used up (default of the simulation), 'forever' removes nothing and pauses instead (default with --ingest)",
    },
    'no-server': { help: 'run without the HTTP server' },
    'no-demo': { help: "run without the demonstration of orders, which shows groups at work (topic 'demo.orders')" },
    ...SERVER,
  },
  examples: [
    { run: 'tidemark start', what: 'continue the newest run in ./data and print the address of the server' },
    { run: 'tidemark start --ticks 300 --new', what: 'simulate 300 ticks of a new run' },
    {
      run: 'tidemark start --config tidemark.config.ts',
      what: 'run a pipeline of your own (docs/reference/configuration.md)',
    },
    {
      run: 'tidemark start --config tidemark.config.ts --only environment-indexer',
      what: 'share the work on the newest run, on a second machine',
    },
    { run: 'tidemark start --ingest new', what: 'accept ticks from a simulation in any language' },
    {
      run: 'TIDEMARK_PIPELINE__SERVICES__SIMULATION__TICKS_PER_SECOND=20 tidemark start',
      what: 'environment variables set every option of docs/reference/configuration.md',
    },
  ],
  endsItself: true,
  run: async (...call) => (await import('../start/start.ts')).start(...call),
}
