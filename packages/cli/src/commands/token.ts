import type { Command } from '../command.ts'

const FILE = { value: '<file>', help: 'token file of the server (--token-file)' }

export const create: Command = {
  name: 'token create',
  summary: 'Create a token for the HTTP server and print it once; the token file holds only its hash',
  arguments: [{ name: 'name' }],
  options: {
    role: {
      value: '<role>',
      help: 'read, metrics, publish, consume, operate or admin; publish:orders. limits it to topics whose names begin with orders.',
      many: true,
    },
    expires: { value: '<when>', help: 'lifetime such as 90d, or a time such as 2027-01-01T00:00:00Z (default: never)' },
    file: { ...FILE, help: 'token file to add the line to (default: print the line)' },
  },
  examples: [
    {
      run: 'tidemark token create shop --role publish:orders. --role consume:orders. --expires 90d --file tokens.jsonl',
      what: 'a token for one program, with as little as it needs',
    },
    { run: 'tidemark token create grafana --role metrics', what: 'print the token, and the line for a token file' },
  ],
  run: async (...call) => (await import('../tokens/token-commands.ts')).createToken(...call),
}

export const list: Command = {
  name: 'token list',
  summary: 'List the tokens of a token file with their roles and expiry',
  arguments: [],
  options: { file: FILE },
  examples: [{ run: 'tidemark token list --file tokens.jsonl', what: 'names, roles and expiry; never a token' }],
  run: async (...call) => (await import('../tokens/token-commands.ts')).listTokens(...call),
}

export const revoke: Command = {
  name: 'token revoke',
  summary: 'Remove a token from a token file; running servers refuse it within seconds',
  arguments: [{ name: 'name' }],
  options: { file: FILE },
  examples: [{ run: 'tidemark token revoke shop --file tokens.jsonl', what: 'its streams and sessions end too' }],
  run: async (...call) => (await import('../tokens/token-commands.ts')).revokeToken(...call),
}
