import { diagnose, type Finding } from 'tidemark'
import type { Command } from '../command.ts'
import { DATABASE, databaseOf } from '../database.ts'
import { EXIT } from '../exit-codes.ts'
import { present } from '../given.ts'
import type { Output } from '../output/output.ts'
import { redact } from '../redact.ts'

const COLOURS = { ok: 'green', warn: 'yellow', bad: 'red' } as const
const CHECK_WIDTH = 18

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check the database and the topics, and suggest what to do',
  arguments: [],
  options: {
    strict: { help: 'exit with 3 on warnings too' },
    'open-transaction': { value: '<duration>', help: "age from which an open transaction is reported (default '5m')" },
    'stuck-after': { value: '<duration>', help: "age from which a waiting message is reported (default '1h')" },
    ...DATABASE,
  },
  examples: [
    {
      run: 'tidemark doctor --database postgres://app@db/app',
      what: 'checks versions, LISTEN, clocks, transactions, groups and dead letters',
    },
  ],
  run: async (given, surroundings) => {
    const { url, namespace } = databaseOf(given, surroundings)
    const health = present({
      openTransaction: given.duration('open-transaction'),
      stuckAfter: given.duration('stuck-after'),
    })
    const findings = await diagnose(url, { namespace, health })
    const worst = ['bad', ...(given.flag('strict') ? ['warn'] : [])]
    const isWrong = findings.some(({ state }) => worst.includes(state))
    const { output } = surroundings
    const shown = findings.map(finding => ({ ...finding, found: redact(finding.found) }))
    output.result({ healthy: !isWrong, findings: shown }, () => shown.flatMap(finding => linesOf(finding, output)))
    return isWrong ? EXIT.found : EXIT.done
  },
}

function linesOf({ check, state, found, advice }: Finding, output: Output): string[] {
  const line = `${output.paint(COLOURS[state], state.padEnd(4))}  ${check.padEnd(CHECK_WIDTH)}  ${found}`
  return advice === null ? [line] : [line, `${' '.repeat(6 + CHECK_WIDTH)}  → ${advice}`]
}
