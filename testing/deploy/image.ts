/**
 * The steps of the container file without a container: the files that the build gets, its two RUN lines, and the result
 * started with an environment of its own, from an empty data folder, as a user without rights where this one is root.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { until } from '../until.ts'

const ROOT = join(import.meta.dirname, '../..')
const NOBODY = 65534
const TOKEN = 'a-token-of-this-check-only'

export async function checkImage(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-image-'))
  chmodSync(folder, 0o755)
  try {
    const [source, app, data] = ['source', 'app', 'data'].map(name => join(folder, name)) as [string, string, string]
    copySource(source)
    for (const step of runLines()) {
      console.log(`RUN ${step}`)
      run(['sh', '-c', step.replaceAll('/app', app)], source)
    }
    mkdirSync(data)
    if (process.getuid?.() === 0) chownSync(data, NOBODY, NOBODY)
    await startAndStop(app, data)
    console.log('The program of the image starts as its user, becomes ready, and ends gracefully at SIGTERM.')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What git knows, as .dockerignore leaves it, and nothing of this checkout's installation. */
function copySource(target: string): void {
  const files = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const file of files.stdout.split('\0').filter(Boolean)) {
    cpSync(join(ROOT, file), join(target, file), { recursive: true })
  }
}

const runLines = (): string[] =>
  [
    ...readFileSync(join(ROOT, 'deploy/container/Containerfile'), 'utf8').matchAll(/^RUN (npm ci.*|sh deploy.*)$/gm),
  ].flatMap(([, step]) => step ?? [])

function run([program = '', ...args]: readonly string[], cwd: string): void {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit', env: cleanEnvironment() })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed with ${status}`)
}

async function startAndStop(app: string, data: string): Promise<void> {
  const port = await findFreePort()
  const env = {
    ...cleanEnvironment(`${app}/node_modules/.bin`),
    TIDEMARK_ADMIN_TOKEN: TOKEN,
    TIDEMARK_PORT: String(port),
  }
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  const args = ['start', '--host', '0.0.0.0', '--port', String(port), '--log', 'json']
  const started = spawn('tidemark', args, { cwd: data, env, ...user, stdio: ['ignore', 'inherit', 'inherit'] })
  try {
    const probe = (what: string) => spawnSync('node', [join(app, 'probe.js'), what], { env, ...user, encoding: 'utf8' })
    await until(() => probe('live').status === 0, { what: 'a live server', timeout: 120_000 })
    await until(() => probe('ready').status === 0, { what: 'a ready server', timeout: 120_000 })
    started.kill('SIGTERM')
    await ended(started)
    const afterwards = probe('live')
    if (afterwards.status === 0) throw new Error('The probe says that a stopped server is live')
    if (started.exitCode !== 0 && started.exitCode !== 130) throw new Error(`It ended with ${started.exitCode}`)
  } finally {
    started.kill('SIGKILL')
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** A container has none of this session's variables. The base image has the Node that the repository pins. */
function cleanEnvironment(more = ''): Record<string, string> {
  const { PATH = '', HOME = '/' } = process.env
  return {
    PATH: [more, dirname(process.execPath), PATH].filter(Boolean).join(':'),
    HOME,
    NODE_ENV: more === '' ? '' : 'production',
  }
}
