import type { CommandOptionTable } from './command.ts'

export const CONFIG: CommandOptionTable = {
  config: { value: '<file>', help: 'configuration file (default: tidemark.config.ts of this folder)' },
}
