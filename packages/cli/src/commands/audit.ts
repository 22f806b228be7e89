import type { Command } from '../command.ts'
import { DATA } from '../data-option.ts'

export const audit: Command = {
  name: 'audit',
  summary: 'List changes and refusals over HTTP: who, what, from where and the outcome, newest first',
  arguments: [],
  options: {
    file: { value: '<file>', help: 'audit file (default: audit.jsonl in the data folder)' },
    ...DATA,
    server: {
      value: '<url>',
      help: 'ask a running server instead; the token of an administrator is taken from TIDEMARK_ADMIN_TOKEN',
    },
    kind: { value: '<kind>', help: 'change, data (publishing and consuming) or refusal' },
    outcome: { value: '<outcome>', help: 'done, failed, refused or unknown' },
    who: { value: '<name>', help: 'entries of one token or user' },
    action: { value: '<operation>', help: 'entries of one operation, such as deleteTopic' },
    topic: { value: '<topic>', help: 'entries of one topic' },
    since: { value: '<time>', help: 'entries since this time, such as 2026-05-01T12:00:00Z' },
    limit: { value: '<n>', help: 'maximum number of entries (default 100)' },
  },
  examples: [
    { run: 'tidemark audit --kind refusal', what: 'who was not let in, from the audit file in ./data' },
    {
      run: 'tidemark audit --server https://tidemark.example.org --action deleteTopic',
      what: 'who deleted topics, from a running server',
    },
  ],
  run: async (...call) => (await import('../audit/show-audit.ts')).showAudit(...call),
}
