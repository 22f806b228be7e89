import type { OptionTable } from './command.ts'

export const DATA: OptionTable = {
  data: { value: '<folder>', help: "where 'tidemark start' keeps everything; ./data if not said" },
}
