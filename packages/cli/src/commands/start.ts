import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'
import { SERVER } from '../server-options.ts'

export const start: Command = {
  name: 'start',
  summary:
    'Runs the whole pipeline on this machine, with a server to look at it: simulation, batch files, topics, indexes',
  arguments: [],
  options: {
    ...DATA,
    new: { help: 'begins a new run; else it goes on with the newest' },
    ticks: { value: '<n>', help: 'makes so many more, indexes them and ends; else Ctrl-C ends it' },
    ingest: {
      value: '<run>',
      help: "takes this run's ticks over HTTP (docs/http.md) in place of a simulation's; 'new' makes an id and prints it",
    },
    'max-disk': {
      value: '<size>',
      help: "disk budget at which the source pauses, such as 10GB, or 'none' (default 2GB)",
    },
    'no-server': { help: 'the pipeline alone' },
    ...SERVER,
  },
  examples: [
    { run: 'tidemark start', what: 'goes on with the newest run in ./data, and prints the address to look at' },
    { run: 'tidemark start --ticks 300 --new', what: '300 ticks of a new run' },
    { run: 'tidemark start --ingest new', what: 'your own simulation, in any language, sends its ticks' },
    {
      run: 'TIDEMARK_PIPELINE__SERVICES__SIMULATION__TICKS_PER_SECOND=20 tidemark start',
      what: 'every option of docs/configuration.md can be set by the environment',
    },
  ],
  endsItself: true,
  run: async (...call) => (await import('../start/start-pipeline.ts')).startPipeline(...call),
}
