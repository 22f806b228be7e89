import type { Command } from '../command.ts'
import { CONFIG } from '../config-option.ts'

export const init: Command = {
  name: 'config init',
  summary: 'Write a commented configuration of the default pipeline; an existing one is never overwritten',
  arguments: [],
  options: { config: { value: '<file>', help: 'file to write (default: tidemark.config.ts in this folder)' } },
  examples: [{ run: 'tidemark config init', what: 'write tidemark.config.ts' }],
  run: async (...call) => (await import('../config/init.ts')).initConfig(...call),
}

export const check: Command = {
  name: 'config check',
  summary: 'Check a configuration and show every mistake',
  arguments: [],
  options: CONFIG,
  examples: [{ run: 'tidemark config check', what: 'exit with 3 if something is wrong' }],
  run: async (...call) => (await import('../config/check.ts')).checkConfiguration(...call),
}

export const print: Command = {
  name: 'config print',
  summary: 'Show the effective configuration: defaults filled in, environment applied, passwords masked',
  arguments: [],
  options: CONFIG,
  examples: [{ run: 'tidemark config print --json', what: 'as JSON on one line' }],
  run: async (...call) => (await import('../config/print.ts')).printConfiguration(...call),
}
