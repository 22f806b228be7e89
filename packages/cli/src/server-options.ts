import type { OptionTable } from './command.ts'

/** Tokens come from the environment alone: other users of the machine see arguments. */
export const SERVER: OptionTable = {
  host: {
    value: '<address>',
    help: '127.0.0.1 if not said; elsewhere only with TIDEMARK_ADMIN_TOKEN or TIDEMARK_READ_TOKEN in the environment',
  },
  port: { value: '<n>', help: '4680 if not said, or a free one where that is taken; 0 takes a free one' },
  'allowed-host': { value: '<name>', help: 'a name under which the server is reached', many: true },
}
