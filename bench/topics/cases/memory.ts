import { open } from 'tidemark'
import { spawnScript } from '../../../testing/processes.ts'
import { atMost, figure } from '../../figure.ts'
import { ENGINES } from '../../suite.ts'
import type { BenchCase } from '../bench-case.ts'
import { fillTopic } from '../log-filling.ts'

const MESSAGES = 1_000_000
const MOST_MB = 200
const TOPIC = 'memory'
const SCRIPT = new URL('../scripts/drain-and-sample.ts', import.meta.url)

export type HeapReport = { readonly maxMB: number; readonly maxAfterGcMB: number; readonly maxRssMB: number }

export const memory: BenchCase = {
  name: 'memory',
  about: 'the heap of a process that drains 1 000 000 messages',
  engines: ENGINES,
  async run({ engine, size, progress }) {
    const messages = size(MESSAGES)
    {
      await using tidemark = await open(engine.url)
      await fillTopic(tidemark, TOPIC, messages)
    }
    await engine.gatherStatistics()
    progress('filled')
    const heap = await drainElsewhere([engine.url, TOPIC, String(messages)])
    const measured = { engine: engine.name, unit: 'MB' } as const
    const drained = `drain ${messages.toLocaleString('en-US')}`
    return [
      figure({
        case: `${drained}: heap, highest`,
        ...measured,
        ours: heap.maxMB,
        target: atMost(MOST_MB, 'MB'),
        note: 'heapUsed every 20 ms, garbage included; batchSize 1000',
      }),
      figure({
        case: `${drained}: heap after gc, highest`,
        ...measured,
        ours: heap.maxAfterGcMB,
        note: 'every 200 ms',
      }),
      figure({ case: `${drained}: resident memory, highest`, ...measured, ours: heap.maxRssMB }),
    ]
  },
}

/** In a process of its own: this one's heap holds what earlier cases left. */
async function drainElsewhere(args: string[]): Promise<HeapReport> {
  await using script = spawnScript(SCRIPT, args, { nodeFlags: ['--expose-gc'] })
  const { code } = await script.exited
  const [report] = script.messages
  if (code !== 0 || report === undefined) throw new Error(`The drain failed:\n${script.errorLines.join('\n')}`)
  return report as HeapReport
}
