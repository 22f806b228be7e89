import { spawnSync } from 'node:child_process'
import { findNats } from '../../testing/nats-binary.ts'
import { startNats } from '../../testing/nats-server.ts'
import { spawnScript } from '../../testing/processes.ts'
import type { Figure } from '../figure.ts'
import { installPeers } from '../peers/installed.ts'
import { formatLine } from '../report/table.ts'
import type { Suite, SuiteOptions, SuiteResult } from '../suite.ts'
import { CASES } from './cases.ts'

export type WantedCase = { readonly case: string; readonly url: string; readonly quick: boolean }

/** What the process says: how far it is, and in the end what it measured. */
export type CaseMessage = { readonly progress: string } | { readonly figures: readonly Figure[] }

const REMARKS = [
  'Three nats-servers on this machine, streams with three replicas, sync_interval: always. Payloads are JSON objects of 200 bytes.',
  'Each figure is the median of runs that take turns with the other side, and each ratio the median of the ratios of such turns.',
  'Raw is nats.js by hand (@nats-io/jetstream) with one message an entry, which also encodes and parses the payloads.',
  'Drains are timed from start() of the groups (subscribing included) to the last ack stored.',
  'Clients and servers share the processors, so compare the figures with each other only.',
]
const SCRIPT = new URL('scripts/run-case.ts', import.meta.url)

export const jetstream: Suite = {
  name: 'jetstream',
  about: 'the durable topics on a NATS JetStream cluster of three servers, next to nats.js by hand',
  cases: CASES,
  run: runJetStream,
}

async function runJetStream({ only, quick, progress }: SuiteOptions): Promise<SuiteResult> {
  const program = findNats()
  if (program === undefined) throw new Error('There is no nats-server 2.12 or later here, and none could be fetched')
  installPeers(progress)
  await using cluster = await startNats({ nodes: 3, syncAlways: true })
  const figures: Figure[] = []
  for (const { name } of CASES.filter(each => only === undefined || each.name.includes(only))) {
    progress(name)
    const measured = await runInProcess({ case: name, url: cluster.url, quick }, text => progress(`${name}: ${text}`))
    for (const one of measured) progress(`  ${formatLine(one)}`)
    figures.push(...measured)
  }
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return { figures, versions: { nats: stdout.trim().replace(/^nats-server: v/, '') }, remarks: REMARKS }
}

/** A case in a process of its own: what one leaves on the heap doesn't slow down the next. */
async function runInProcess(wanted: WantedCase, progress: (text: string) => void): Promise<readonly Figure[]> {
  await using script = spawnScript(SCRIPT, [JSON.stringify(wanted)], { nodeFlags: ['--expose-gc'] })
  let figures: readonly Figure[] | undefined
  script.onMessage(message => {
    const told = message as CaseMessage
    if ('progress' in told) progress(told.progress)
    else figures = told.figures
  })
  const { code } = await script.exited
  if (code === 0 && figures !== undefined) return figures
  throw new Error(`The case ${wanted.case} failed:\n${script.errorLines.join('\n')}`)
}
