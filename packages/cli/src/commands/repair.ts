import { repair as repairNamespace } from 'tidemark'
import { type Command, YES } from '../command.ts'
import { confirm } from '../confirm.ts'
import { DATABASE, databaseOf } from '../database.ts'
import { EXIT } from '../exit-codes.ts'

export const repair: Command = {
  name: 'repair',
  summary: 'Repair a namespace after a logical restore into another PostgreSQL cluster, or a damaged SQLite file',
  arguments: [],
  options: { ...YES, ...DATABASE },
  examples: [
    {
      run: 'tidemark repair --database postgres://app@new-db/app --yes',
      what: "run once, before any other program: rebases the cursors to the new server's transaction ids",
    },
  ],
  run: async (given, surroundings) => {
    const { url, namespace } = databaseOf(given, surroundings)
    await confirm(given, `Repairing namespace '${namespace}'`, surroundings.interrupted)
    const { output } = surroundings
    const report = await output.liveLine().during('repairing', repairNamespace(url, { namespace }))
    output.result(report, () => [
      ...(report.problems.length === 0 ? ['no problems found'] : report.problems.map(problem => `found: ${problem}`)),
      ...report.changes.map(change => `done: ${change}`),
      ...(report.mended ? [] : ['it could not be mended: restore it from a backup']),
    ])
    return report.mended ? EXIT.done : EXIT.found
  },
}
