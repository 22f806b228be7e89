import type { OptionTable } from './command.ts'

export const CONFIG: OptionTable = {
  config: { value: '<file>', help: 'configuration file (default: tidemark.config.ts of this folder)' },
}
