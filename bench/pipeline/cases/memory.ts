import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../testing/folders.ts'
import { atMost, figure } from '../../figure.ts'
import type { PipelineCase } from '../bench-case.ts'

const SECONDS = 120
const SAMPLE_MS = 1_000
const MOST_MB = 300
const REPOSITORY = new URL('../../../', import.meta.url)
const FULL_SPEED = { TIDEMARK_PIPELINE__SERVICES__SIMULATION__TICKS_PER_SECOND: '1000000' }

export const memory: PipelineCase = {
  name: 'memory',
  about: 'resident memory of the whole of npm start, as fast as it goes and at its default pace',
  async run({ size }) {
    const seconds = size(SECONDS)
    const figures = []
    for (const [pace, settings] of [
      ['full speed', FULL_SPEED],
      ['default pace', {}],
    ] as const) {
      const samples = await sampled(seconds, settings)
      const second = samples.slice(samples.length / 2)
      figures.push(
        figure({
          case: `npm start, ${seconds} s at ${pace}: highest`,
          engine: 'SQLite',
          unit: 'MB',
          ours: Math.max(...samples),
          target: atMost(MOST_MB, 'MB'),
          note: `every second; ${Math.round(second.reduce((sum, mb) => sum + mb, 0) / second.length)} MB on average in the second half`,
          samples: { mb: samples },
        }),
      )
    }
    return figures
  },
}

/** Resident megabytes, second by second. */
async function sampled(seconds: number, settings: Record<string, string>): Promise<number[]> {
  using folder = temporaryFolder()
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', REPOSITORY), 'utf8'))
  const [, ...args] = String(scripts.start).split(' ')
  const child = spawn(process.execPath, [...args, '--data', folder.path], {
    cwd: fileURLToPath(REPOSITORY),
    env: { ...process.env, ...settings },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  try {
    const samples: number[] = []
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
      await delay(SAMPLE_MS)
      samples.push(await residentMB(child))
    }
    return samples
  } finally {
    child.kill('SIGINT')
    await ended
  }
}

async function residentMB({ pid, exitCode }: ChildProcess): Promise<number> {
  if (exitCode !== null) throw new Error(`npm start ended by itself with ${exitCode}`)
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)])
  return Number(stdout) / 1_024
}
