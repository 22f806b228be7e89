import { machineFacts } from '../report/machine.ts'
import { formatTable } from '../report/table.ts'
import type { Suite, SuiteOptions, SuiteResult } from '../suite.ts'
import { CASES } from './cases.ts'
import { ENTRANTS, type Entrant } from './entrants.ts'
import { installPeers } from './installed.ts'
import { formatTables } from './report/tables.ts'
import { writeReport } from './report/write.ts'
import { type Results, resultOf } from './results.ts'
import { backendKinds } from './servers.ts'
import { compareAll } from './targets.ts'
import { type Turn, takeTurn } from './turn.ts'

const ROUNDS = 3
const SAMPLE_MS = 700
const QUICK_ROUNDS = 1
const QUICK_SAMPLE_MS = 100
/** No further round is begun that would end later than this. */
const LONGEST_MS = 9.5 * 60_000

export const peers: Suite = {
  name: 'peers',
  about: 'the topics next to what else a program in TypeScript might take (installed when first asked for)',
  cases: CASES,
  run: runPeers,
}

async function runPeers(options: SuiteOptions): Promise<SuiteResult> {
  installPeers(options.progress)
  const results = await measureAll(options)
  const figures = compareAll(results)
  const judged = figures.filter(({ met }) => met !== null)
  return {
    figures,
    versions: {},
    remarks: [],
    text: `${formatTables(results, 'terminal')}\n\n${judged.length === 0 ? '' : formatTable(judged)}`,
    details: {
      rounds: results.rounds,
      facts: results.facts,
      contenders: results.all.map(({ entrant, version, skipped, values, samples }) => ({
        id: entrant.id,
        name: entrant.name,
        version,
        settings: entrant.settings,
        skipped,
        values: Object.fromEntries(values),
        samples: Object.fromEntries(samples),
      })),
    },
    write: () => writeReport(results, figures),
  }
}

/**
 * Round after round every contender has its turn, on a new server or file and in a new process: what else the machine does
 * falls on all of them alike, and only one works at a time.
 */
async function measureAll({ engines, only, quick, progress }: SuiteOptions): Promise<Results> {
  const kinds = backendKinds()
  const cases = CASES.filter(({ name }) => only === undefined || name.includes(only)).map(({ name }) => name)
  const wanted = ENTRANTS.filter(
    ({ backend }) => (engines as readonly string[]).includes(backend) || engines.length > 1,
  )
  const turns = new Map<Entrant, Turn[]>(wanted.map(entrant => [entrant, []]))
  const ms = quick ? QUICK_SAMPLE_MS : SAMPLE_MS
  const versions = new Map<string, string>()
  const started = performance.now()
  let rounds = 0
  for (; rounds < (quick ? QUICK_ROUNDS : ROUNDS); rounds++) {
    const took = performance.now() - started
    if (rounds > 0 && took + took / rounds > LONGEST_MS) break
    for (const entrant of wanted) {
      const kind = kinds[entrant.backend]
      if ('missing' in kind) continue
      await using backend = await kind.start()
      versions.set(entrant.backend, backend.version)
      const own = cases.filter(name => entrant.cases === undefined || entrant.cases.includes(name))
      const turn = await takeTurn(entrant, backend, { entrant: entrant.id, address: backend.address, cases: own, ms })
      turns.get(entrant)?.push(turn)
      progress(`round ${rounds + 1}: ${turn.failure ?? entrant.name}`)
    }
  }
  return {
    at: new Date(),
    quick,
    rounds,
    facts: { ...machineFacts(), ...Object.fromEntries(versions) },
    all: wanted.map(entrant => {
      const kind = kinds[entrant.backend]
      return resultOf(entrant, turns.get(entrant) ?? [], 'missing' in kind ? kind.missing : null)
    }),
  }
}
