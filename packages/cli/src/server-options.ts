import type { OptionTable } from './command.ts'

/** Tokens come from the environment alone: other users of the machine see arguments. */
export const SERVER: OptionTable = {
  host: {
    value: '<address>',
    help: 'address to listen on (default 127.0.0.1); any other address requires TIDEMARK_ADMIN_TOKEN or TIDEMARK_READ_TOKEN',
  },
  port: {
    value: '<n>',
    help: 'port to listen on (default 4680, or a free port if that is in use); 0 picks a free port',
  },
  'allowed-host': { value: '<name>', help: 'additional host name under which the server is reached', many: true },
}
