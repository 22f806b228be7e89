import type { CommandOptionTable } from './command.ts'

/** Tokens come from the environment or a file of hashes, because other users of the machine can see arguments. */
export const SERVER: CommandOptionTable = {
  host: {
    value: '<address>',
    help: 'address to listen on (default 127.0.0.1); any other address requires --token-file or a token in the environment (TIDEMARK_ADMIN_TOKEN)',
  },
  port: {
    value: '<n>',
    help: 'port to listen on (default 4680, or a free port if that is in use); 0 picks a free port',
  },
  'allowed-host': { value: '<name>', help: 'additional host name under which the server is reached', many: true },
  'token-file': {
    value: '<file>',
    help: "file of named tokens with roles and expiry, made with 'tidemark token create' and reread when it changes",
  },
  'tls-cert': { value: '<file>', help: 'TLS certificate in PEM; requires --tls-key' },
  'tls-key': { value: '<file>', help: 'private key of the TLS certificate in PEM' },
  'trusted-proxy': {
    value: '<address>',
    help: 'address or network of a proxy whose X-Forwarded-For is believed, such as 10.0.0.0/8',
    many: true,
  },
  'secure-cookies': { help: 'send session cookies over TLS only, where a proxy in front has TLS' },
  'audit-file': {
    value: '<file>',
    help: 'file for every change and every refusal (default: audit.jsonl in the data folder, or the log without one)',
  },
  log: { value: '<format>', help: "format of the server's log: pretty or json (default pretty)" },
  'log-file': {
    value: '<file>',
    help: "file for the server's log (default: standard error, or server.log in the data folder while a screen is shown)",
  },
}
