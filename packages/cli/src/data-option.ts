import type { CommandOptionTable } from './command.ts'

export const DATA: CommandOptionTable = {
  data: { value: '<folder>', help: "data folder of 'tidemark start' (default ./data)" },
}
