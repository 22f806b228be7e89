/**
 * Finds a nats-server that is new enough, or fetches one. `npm run nats` prints its path.
 *
 * Debian's stable release has an older one. Its newer releases have one that runs here, too: the package is downloaded
 * with the machine's own package sources, with another release's name in them, and unpacked into a cache folder. Nothing
 * is installed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Atomic batches came with it. */
const OLDEST = [2, 12] as const
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tidemark')
const CACHED = join(CACHE, 'nats-server')
/** A failed download is not tried again by each of many test files. */
const FAILED = join(CACHE, 'nats-server.failed')
const RETRY_AFTER_MS = 10 * 60_000

/** Path of the program, or undefined. */
export function findNats({ fetch = true } = {}): string | undefined {
  const found = ['nats-server', CACHED].find(isNewEnough)
  if (found !== undefined || !fetch || failedLately()) return found
  try {
    fetchFromDebian()
    return isNewEnough(CACHED) ? CACHED : undefined
  } catch (error) {
    mkdirSync(CACHE, { recursive: true })
    writeFileSync(FAILED, String(error))
    return undefined
  }
}

/** One that is too old: that of the machine's own release, up to Debian 13. undefined: there is none. */
export function findOldNats(): string | undefined {
  const cached = join(CACHE, 'nats-server-old')
  try {
    if (!existsSync(cached)) fetchFromDebian(cached, apt => apt('download', 'nats-server'), [])
    const { status } = spawnSync(cached, ['--version'])
    return status === 0 && !isNewEnough(cached) ? cached : undefined
  } catch {
    return undefined // No network, no Debian.
  }
}

/** For `describe` and `it`: why what needs a server can't be run here. */
export const skipWithoutNats = (): string | false =>
  findNats() === undefined &&
  `there is no nats-server ${OLDEST.join('.')} or later on the PATH, and none could be fetched`

function isNewEnough(program: string): boolean {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(status === 0 ? stdout : '') ?? []
  return Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1])
}

const failedLately = (): boolean => existsSync(FAILED) && Date.now() - statSync(FAILED).mtimeMs < RETRY_AFTER_MS

type Apt = (...args: readonly string[]) => void

function fetchFromDebian(
  target = CACHED,
  download: (apt: Apt) => void = apt => {
    apt('update')
    apt('download', 'nats-server')
  },
  options?: readonly string[],
): void {
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'fetch-'))
  try {
    for (const each of ['lists/partial', 'archives/partial']) mkdirSync(join(folder, each), { recursive: true })
    writeFileSync(join(folder, 'sid.sources'), newerSources())
    const apt: Apt = (...args) => {
      execFileSync('apt-get', [...(options ?? privateApt(folder)), ...args], {
        cwd: folder,
        stdio: 'pipe',
        timeout: 120_000,
      })
    }
    download(apt)
    const file = readdirSync(folder).find(each => each.endsWith('.deb'))
    if (file === undefined) throw new Error('apt-get downloaded no package')
    execFileSync('dpkg', ['-x', file, 'unpacked'], { cwd: folder, stdio: 'pipe' })
    // Several test files may fetch it at once: the last one wins, and each is whole.
    renameSync(join(folder, 'unpacked/usr/sbin/nats-server'), target)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The machine's own sources of the release itself, in deb822 or one-line format, with another release's name. */
function newerSources(): string {
  const folder = '/etc/apt/sources.list.d'
  const files = existsSync(folder) ? readdirSync(folder).filter(each => each.endsWith('.sources')) : []
  for (const file of files) {
    for (const stanza of readFileSync(join(folder, file), 'utf8').split(/\n\s*\n/)) {
      if (/^URIs:.*\/debian\/?$/m.test(stanza)) return stanza.replace(/^Suites:.*$/m, 'Suites: sid')
    }
  }
  const list = '/etc/apt/sources.list'
  const line = existsSync(list) ? /^deb\s+(?:\[.*\]\s+)?(\S+\/debian\/?)\s/m.exec(readFileSync(list, 'utf8')) : null
  if (line === null) throw new Error("the machine's package sources name no Debian release")
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg'
  return `Types: deb\nURIs: ${line[1]}\nSuites: sid\nComponents: main\nSigned-By: ${keys}\n`
}

/** Lists and packages of its own, so that the machine's are not touched and no right is needed. */
const privateApt = (folder: string): string[] =>
  [
    `Dir::Etc::sourcelist=${join(folder, 'sid.sources')}`,
    'Dir::Etc::sourceparts=/dev/null',
    `Dir::State::lists=${join(folder, 'lists')}`,
    `Dir::Cache=${folder}`,
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
    'Acquire::Retries=1',
    'Acquire::http::Timeout=15',
  ].flatMap(option => ['-qq', '-o', option])

if (import.meta.main) {
  rmSync(FAILED, { force: true })
  const program = findNats()
  if (program === undefined) {
    const reason = existsSync(FAILED) ? readFileSync(FAILED, 'utf8').split('\n', 1)[0] : 'unknown'
    console.error(`No nats-server ${OLDEST.join('.')} or later: ${reason}`)
    process.exitCode = 1
  } else console.log(program)
}
