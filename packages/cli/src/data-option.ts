import type { OptionTable } from './command.ts'

export const DATA: OptionTable = {
  data: { value: '<folder>', help: "data folder of 'tidemark start' (default ./data)" },
}
