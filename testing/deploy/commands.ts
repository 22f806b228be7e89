/**
 * Whether the command lines of the files in deploy/ are right: the command itself is asked. Options are checked by adding
 * one that doesn't exist, which must be the only mistake; a configuration by `tidemark config check`.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const CONFIG = join(ROOT, 'deploy/cluster.config.ts')
const UNKNOWN = '--no-such-option'

export function checkCommand(args: readonly string[]): string[] {
  const { status, stderr } = tidemark([...args, UNKNOWN])
  const isRight = status === 2 && stderr.includes(UNKNOWN)
  return [
    ...(isRight ? [] : [`tidemark ${args.join(' ')}: ${stderr.trim() || `exit code ${status}`}`]),
    ...servicesIn(args)
      .filter(service => !SERVICES.includes(service))
      .map(service => `tidemark ${args.join(' ')}: the configuration has no service ${service}`),
  ]
}

/** The configuration as it is, once with a bucket and once with a folder. */
export function checkConfig(): string[] {
  return [{ S3_BUCKET: 'ticks' }, { TICKS_FOLDER: '/ticks' }].flatMap(storage => {
    const { status, stdout, stderr } = tidemark(['config', 'check', '--config', CONFIG], storage)
    return status === 0 ? [] : [`cluster.config.ts with ${JSON.stringify(storage)}: ${stdout}${stderr}`]
  })
}

const SERVICES = ((): string[] => {
  const { stdout } = tidemark(['config', 'print', '--config', CONFIG, '--json'], { TICKS_FOLDER: '/ticks' })
  return Object.keys((JSON.parse(stdout) as { services: object }).services)
})()

function servicesIn(args: readonly string[]): string[] {
  const at = args.findIndex(argument => /^--only(=|$)/.test(argument))
  const value = at < 0 ? undefined : (args[at]?.split('=')[1] ?? args[at + 1])
  return value?.split(',') ?? []
}

function tidemark(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const main = join(ROOT, 'packages/cli/src/main.ts')
  const env = { ...process.env, DATABASE_URL: 'postgres://localhost/tidemark', ...environment }
  return spawnSync(process.execPath, ['--conditions=tidemark-source', main, ...args], { encoding: 'utf8', env })
}
