/** The real command: as a process, or in this one where that makes no difference. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { until } from '../../../testing/until.ts'
import { unwatchProcess, watchProcess } from '../../../testing/watchdog.ts'
// Inside: in this process, since a process of its own costs half a second.
import { run } from '../src/cli.ts'
import { Output } from '../src/output/output.ts'

export const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
export const NODE_FLAGS = ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning']

export type CommandOptions = {
  /** As TIDEMARK_DATABASE. */
  readonly database?: string
  readonly environment?: Record<string, string | undefined>
  /** For its standard input; without it there is none. */
  readonly input?: string
  readonly cwd?: string
}

export type Ended = { readonly code: number | null; readonly out: string; readonly err: string }

/** With an allocator setting `start` does not begin once more with its own, which takes 0.1 seconds. */
export const environmentOf = ({ database, environment }: CommandOptions): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_TEST_CONTEXT: undefined,
  MALLOC_ARENA_MAX: '1',
  TIDEMARK_DATABASE: database,
  ...environment,
})

/** From its first word to its exit code. A process of its own costs half a second, and is for what needs one. */
export async function tidemark(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const needsProcess = options.input !== undefined || options.cwd !== undefined || args[0] === 'start'
  return needsProcess ? await tidemarkProcess(args, options) : await tidemarkHere(args, options)
}

export async function tidemarkProcess(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  await using command = new RunningCommand(process.execPath, [...NODE_FLAGS, MAIN, ...args], options)
  return await command.ended
}

/** In this process whatever it is: for a start that is refused before anything runs. */
export async function tidemarkHere(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const out: string[] = []
  const err: string[] = []
  const environment = environmentOf(options)
  const stdout = { write: (text: string) => out.push(text) }
  const stderr = { write: (text: string) => err.push(text) }
  const output = new Output({ json: args.includes('--json'), stdout, stderr, environment })
  const code = await run(args, { output, environment, interrupted: new AbortController().signal })
  return { code, out: out.join(''), err: err.join('') }
}

/** Its result as a program reads it. */
export async function tidemarkJson<T>(args: readonly string[], options: CommandOptions = {}): Promise<T> {
  const { code, out, err } = await tidemark([...args, '--json'], options)
  if (code !== 0) throw new Error(`tidemark ${args.join(' ')} ended with ${code}: ${err}`)
  return JSON.parse(out)
}

export const startTidemark = (args: readonly string[], options: CommandOptions = {}): RunningCommand =>
  new RunningCommand(process.execPath, [...NODE_FLAGS, MAIN, ...args], options)

export class RunningCommand implements AsyncDisposable {
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  out = ''
  err = ''

  constructor(program: string, args: readonly string[], options: CommandOptions) {
    const child = spawn(program, args, {
      env: environmentOf(options),
      cwd: options.cwd,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    this.#child = child
    const { pid } = child
    if (pid !== undefined) watchProcess(pid, 'SIGKILL')
    child.stdout?.setEncoding('utf8').on('data', text => {
      this.out += text
    })
    child.stderr?.setEncoding('utf8').on('data', text => {
      this.err += text
    })
    this.ended = new Promise(resolve => {
      child.once('close', code => {
        if (pid !== undefined) unwatchProcess(pid)
        resolve({ code, out: this.out, err: this.err })
      })
    })
    if (options.input !== undefined) child.stdin?.end(options.input)
  }

  /** Fails at once where it ends without. */
  async waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    let hasEnded = false
    void this.ended.then(() => {
      hasEnded = true
    })
    return await until(
      () => {
        const found = pattern.exec(this.out)
        if (found === null && hasEnded) throw new Error(`It ended without ${pattern}: ${this.out}${this.err}`)
        return found
      },
      { what: `${pattern} from the command`, timeout: 60_000 },
    )
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGKILL')
    await this.ended
  }
}
