import type { OptionTable } from './command.ts'

/** Tokens come from the environment alone: other users of the machine see arguments. */
export const SERVER: OptionTable = {
  host: { value: '<address>', help: 'where to listen; 127.0.0.1 if not said, and elsewhere only with a token' },
  port: { value: '<n>', help: '4680 if not said; 0 takes a free one' },
  'allowed-host': {
    value: '<name>',
    help: 'a name under which the server is reached; tokens: TIDEMARK_READ_TOKEN, TIDEMARK_ADMIN_TOKEN',
    many: true,
  },
}
