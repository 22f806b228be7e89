import { open } from 'tidemark'
import { type Script, spawnScript } from '../../../testing/processes.ts'
import { atMost } from '../../figure.ts'
import { ENGINES } from '../../suite.ts'
import type { BenchCase } from '../bench-case.ts'
import { handlerLatencies, insertLatencies, latencyFigures } from '../latency-probe.ts'

const MESSAGES = 2_000
const MOST_SQLITE_MS = 10
const TOPIC = 'latency-across'
const SCRIPT = new URL('../scripts/publish-steadily.ts', import.meta.url)

export const latencyAcross: BenchCase = {
  name: 'latency-across',
  about: 'from publish in one process to the handler in another, at 100 messages a second',
  engines: ENGINES,
  async run(bench) {
    const { engine } = bench
    await using tidemark = await open(engine.url)
    await using table = await engine.rawTable('latency_across')
    const publish = async (count: number): Promise<void> => {
      await using script = spawnScript(SCRIPT, [engine.url, TOPIC, String(count)])
      await finished(script)
    }
    const sides = {
      raw: (count: number) => insertLatencies(table, count),
      ours: (count: number) => handlerLatencies(tidemark, TOPIC, count, publish),
    }
    const target = engine.name === 'sqlite' ? atMost(MOST_SQLITE_MS, 'ms') : undefined
    return await latencyFigures(bench, 'latency across processes', bench.size(MESSAGES), sides, target)
  },
}

async function finished(script: Script): Promise<void> {
  const { code } = await script.exited
  if (code !== 0) throw new Error(`The publishing process failed:\n${script.errorLines.join('\n')}`)
}
