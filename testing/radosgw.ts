/**
 * A real S3 server on loopback, for tests: Ceph's object gateway, with one monitor and one storage daemon that keeps its
 * objects in memory. Debian's packages are radosgw, ceph-mon and ceph-osd. It starts in 6 to 10 seconds and takes 130 MB.
 *
 *   monitor ◀── storage daemon ◀── gateway, gateway, …     a gateway that is killed leaves its objects where they are
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { signed } from '../packages/pipeline/src/storage/s3/sign.ts'
import { temporaryFolder } from './folders.ts'
import { findFreePort } from './free-port.ts'
import { until } from './until.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

const run = promisify(execFile)
const PROGRAMS = ['radosgw', 'radosgw-admin', 'ceph-mon', 'ceph-osd', 'ceph', 'ceph-authtool', 'monmaptool']
const KEYS = { accessKeyId: 'tidemark-test', secretAccessKey: 'a-secret/with+signs=of-its-own' } as const
/** Its name in virtual-host style: `<bucket>.s3.test`. */
export const DNS_NAME = 's3.test'
const START_MS = 120_000

/** Where a server can be reached, as plain data: other processes are told of it. */
export type ObjectStoreAddress = {
  readonly endpoint: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Its configuration file, for more gateways. */
  readonly config: string
}

type ObjectStore = ObjectStoreAddress & AsyncDisposable

/** For `describe` and `it`: why what needs a server can't be run here. */
export function skipWithoutRadosgw(): string | false {
  const missing = PROGRAMS.filter(program => spawnSync('which', [program]).status !== 0)
  return (
    missing.length > 0 && `there is no S3 server here: Debian's packages radosgw, ceph-mon and ceph-osd have ${missing}`
  )
}

const VARIABLE = 'TIDEMARK_TEST_S3'
let ofThisProcess: Promise<ObjectStoreAddress> | undefined

/** The server of this test run; where a test file is run by itself, one of its own. */
export function sharedObjectStore(): Promise<ObjectStoreAddress> {
  ofThisProcess ??= findObjectStore()
  return ofThisProcess
}

async function findObjectStore(): Promise<ObjectStoreAddress> {
  const told = process.env[VARIABLE]
  if (told === undefined) return await startObjectStore()
  await until(() => existsSync(told), { what: "the run's S3 server", timeout: START_MS })
  const address = JSON.parse(readFileSync(told, 'utf8'))
  if ('error' in address) throw new Error(`The run's S3 server did not start: ${address.error}`)
  return address
}

/** For a test run: starts one while the first tests run, and tells the processes that follow where its address will be. */
export function shareObjectStore(): AsyncDisposable {
  const folder = temporaryFolder()
  const path = join(folder.path, 'address.json')
  const tell = (what: object): void => {
    writeFileSync(`${path}.tmp`, JSON.stringify(what))
    renameSync(`${path}.tmp`, path)
  }
  process.env[VARIABLE] = path
  const starting = startObjectStore()
  starting.then(tell, error => tell({ error: String(error) }))
  const end = async (): Promise<void> => {
    await (await starting.catch(() => undefined))?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  }
  return { [Symbol.asyncDispose]: end }
}

export async function startObjectStore(): Promise<ObjectStore> {
  const folder = temporaryFolder()
  const config = join(folder.path, 'ceph.conf')
  const started: Daemon[] = []
  const end = async (): Promise<void> => {
    await Promise.all(started.map(daemon => daemon.kill()))
    folder[Symbol.dispose]()
  }
  try {
    const daemon = (name: string, program: string, ...args: string[]): void => {
      started.push(new Daemon(program, ['-c', config, '-f', ...args], join(folder.path, `${name}.out`)))
    }
    await makeMonitor(folder.path, config)
    daemon('mon', 'ceph-mon', '-i', 'a')
    const uuid = randomUUID()
    await run('ceph', ['-c', config, 'osd', 'new', uuid], { timeout: START_MS })
    await run('ceph-osd', ['-c', config, '-i', '0', '--mkfs', '--osd-uuid', uuid], { timeout: START_MS })
    daemon('osd', 'ceph-osd', '-i', '0')
    const { accessKeyId, secretAccessKey } = KEYS
    const keys = [`--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`]
    await run('radosgw-admin', ['-c', config, 'user', 'create', '--uid=test', '--display-name=test', ...keys], {
      timeout: START_MS,
    })
    const gateway = await startGateway(config)
    started.push(gateway.daemon)
    return { endpoint: gateway.endpoint, ...KEYS, config, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

export async function makeBucket({ endpoint, ...credentials }: ObjectStoreAddress, bucket: string): Promise<void> {
  const url = new URL(`${endpoint}/${bucket}`)
  const request = { method: 'PUT', url, headers: {}, body: undefined }
  const headers = signed(request, { credentials, region: 'us-east-1', at: new Date() })
  const answer = await fetch(url, { method: 'PUT', headers })
  if (!answer.ok) throw new Error(`The bucket was not made: ${answer.status} ${await answer.text()}`)
}

/** One more door to the same objects, to be killed and started again at the same port. */
export type Gateway = AsyncDisposable & {
  readonly endpoint: string
  readonly daemon: Daemon
  /** SIGKILL, as when memory runs out. */
  kill(): Promise<void>
  /** Again, at the same port. */
  start(): Promise<void>
}

export async function startGateway(config: string): Promise<Gateway> {
  const port = await findFreePort()
  const endpoint = `http://127.0.0.1:${port}`
  const begin = async (): Promise<Daemon> => {
    const frontend = `--rgw-frontends=beast endpoint=127.0.0.1:${port}`
    const daemon = new Daemon(
      'radosgw',
      ['-c', config, '-f', '-n', 'client.admin', frontend],
      `${config}.rgw-${port}.out`,
    )
    await until(async () => daemon.hasEnded || (await answers(endpoint)), { what: 'the gateway', timeout: START_MS })
    if (daemon.hasEnded) throw new Error(`radosgw ended:\n${daemon.output}`)
    return daemon
  }
  let daemon = await begin()
  const kill = async (): Promise<void> => await daemon.kill()
  return {
    endpoint,
    get daemon() {
      return daemon
    },
    kill,
    start: async () => {
      daemon = await begin()
    },
    [Symbol.asyncDispose]: kill,
  }
}

class Daemon {
  readonly #process: ChildProcess
  readonly #log: string

  constructor(program: string, args: readonly string[], log: string) {
    const output = openSync(log, 'a')
    this.#log = log
    this.#process = spawn(program, args, { stdio: ['ignore', output, output] })
    // The watchdog ends it with this process, so it need not keep this process alive.
    this.#process.unref()
    if (this.#process.pid !== undefined) watchProcess(this.#process.pid, 'SIGKILL')
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  get output(): string {
    return readFileSync(this.#log, 'utf8').slice(-2_000)
  }

  async kill(): Promise<void> {
    if (this.hasEnded) return
    this.#process.ref()
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
    if (this.#process.pid !== undefined) unwatchProcess(this.#process.pid)
  }
}

async function answers(endpoint: string): Promise<boolean> {
  try {
    const answer = await fetch(endpoint, { signal: AbortSignal.timeout(2_000) })
    await answer.body?.cancel()
    return answer.ok
  } catch {
    return false // not yet
  }
}

async function makeMonitor(folder: string, config: string): Promise<void> {
  for (const name of ['mon', 'osd']) mkdirSync(join(folder, name))
  const id = randomUUID()
  const address = `[v2:127.0.0.1:${await findFreePort()}]`
  writeFileSync(config, settings(folder, id, address))
  const keyring = join(folder, 'keyring')
  const key = async (name: string, ...rights: string[]): Promise<void> => {
    const file = name === 'mon.' ? ['--create-keyring', keyring] : [keyring]
    await run('ceph-authtool', [
      ...file,
      '--gen-key',
      '-n',
      name,
      ...rights.flatMap(right => ['--cap', ...right.split('=')]),
    ])
  }
  await key('mon.', 'mon=allow *')
  await key('client.admin', 'mon=allow *', 'osd=allow *', 'mgr=allow *')
  await key('osd.0', 'mon=allow profile osd', 'osd=allow *')
  const map = join(folder, 'monmap')
  await run('monmaptool', ['-c', config, '--create', '--fsid', id, '--addv', 'a', address, map])
  await run('ceph-mon', ['-c', config, '--mkfs', '-i', 'a', '--monmap', map, '--keyring', keyring])
}

/** Without authentication the clients hung. The intervals of the monitor take most of a start. */
const settings = (folder: string, id: string, address: string): string => `
[global]
fsid = ${id}
mon host = ${address}
ms bind msgr1 = false
public addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 536870912
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 1
mon data avail warn = 1
mon data = ${join(folder, 'mon')}
osd data = ${join(folder, 'osd')}
run dir = ${folder}
crash dir = ${folder}
rgw data = ${join(folder, 'rgw')}
admin socket =
log file =
mon cluster log file =
keyring = ${join(folder, 'keyring')}
paxos propose interval = 0.02
paxos min wait = 0.01
mon tick interval = 1
osd class update on start = false
rgw dns name = ${DNS_NAME}
rgw enable gc threads = false
rgw enable lc threads = false
rgw enable quota threads = false
rgw run sync thread = false
rgw thread pool size = 32
`
