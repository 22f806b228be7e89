import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

export type Run = { readonly code: number | null; readonly output: string; readonly stdout: string }

const MINUTES = 60_000

/** Node 24 of this repository first in the path, and nothing in the environment that tells a program about it. */
function cleanEnvironment(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_OPTIONS|NODE_PATH|TIDEMARK_|INIT_CWD)/i.test(name),
  )
  const bin = join(import.meta.dirname, '../../node_modules/node/bin')
  const path = `${bin}${delimiter}${process.env.PATH ?? ''}`
  return { ...Object.fromEntries(kept), PATH: path, CI: '1', ...more }
}

export function run(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Run {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env: cleanEnvironment(env),
    encoding: 'utf8',
    timeout: 9 * MINUTES,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return {
    code: status,
    stdout: stdout ?? '',
    output: `${stdout ?? ''}${stderr ?? ''}${error ? `\n${error.message}` : ''}`,
  }
}

/** What it printed to standard output. */
export function runOrThrow(program: string, args: readonly string[], cwd: string): string {
  const { code, output, stdout } = run(program, args, cwd)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed in ${cwd} (exit code ${code}):\n${output}`)
  return stdout
}
