/** The server or the writer dies in the middle of a write. What was reported as stored is there, and nothing is torn. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { isFast } from '../../../../testing/fast.ts'
import { isLong } from '../../../../testing/long.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { DNS_NAME, sharedObjectStore, skipWithoutRadosgw, startGateway } from '../../../../testing/radosgw.ts'
import { until } from '../../../../testing/until.ts'
import { batchKey, batchOf, isEnvironmentFault, S3Storage, type S3StorageOptions } from '../../src/index.ts'
// Inside: a request that is signed, and then sent only in part.
import { signed } from '../../src/storage/s3/sign.ts'
import { RUN_ID } from '../arbitraries.ts'
import { s3Options } from '../storage/places.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { openDoor } from './door.ts'
import { requestTo } from './requests.ts'

const ROUNDS = isLong ? 8 : 2
const skip = isFast ? 'left out of test:fast' : skipWithoutRadosgw()
const script = join(import.meta.dirname, 'scripts', 'write-batches.ts')

async function optionsFor(endpoint?: string): Promise<S3StorageOptions> {
  const options = await s3Options()
  await requestTo(options, { method: 'PUT', url: '' })
  return endpoint === undefined ? options : { ...options, endpoint }
}

async function keysOf(options: S3StorageOptions): Promise<NodeJS.ProcessEnv> {
  const { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY } =
    (await options.credentials?.()) ?? {}
  return { ...process.env, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY }
}

const withoutFunction = ({ credentials: _, ...plain }: S3StorageOptions): string => JSON.stringify(plain)

async function allAreWhole(storage: S3Storage): Promise<Set<string>> {
  const { items } = await storage.listBatches({ prefix: `${RUN_ID}/` })
  for (const { key } of items) assert.equal((await storage.readBatch(key)).length, 20, key)
  return new Set(items.map(({ key }) => key))
}

describe('a server that is killed in the middle of writes', { skip }, () => {
  it('has every batch that was reported as stored, whole, and takes the others again', async () => {
    const { config } = await sharedObjectStore()
    await using gateway = await startGateway(config)
    const options = await optionsFor()
    const behind = await S3Storage.open({
      ...options,
      endpoint: gateway.endpoint,
      maxAttempts: 1,
      requestTimeout: '5s',
    })
    const stored = new Set<string>()
    let next = 0
    /** Repeats what failed, as the persistence service does, so that nothing is left out. */
    const write = async (): Promise<void> => {
      const ticks = ticksOf(range(20 * next++, 20), { genomeBytes: 20_000 })
      for (;;) {
        try {
          stored.add((await behind.writeBatch(batchOf(ticks))).storageKey)
          return
        } catch (error) {
          assert.equal(isEnvironmentFault(error), true, String(error))
          await until(
            async () =>
              await behind.look().then(
                () => true,
                () => false,
              ),
            { what: 'the server', timeout: 60_000 },
          )
        }
      }
    }
    for (let round = 0; round < ROUNDS; round++) {
      const writing = Promise.all(range(0, 8).map(write))
      await until(() => stored.size > round * 8, { what: 'a batch of this round' })
      await gateway.kill()
      await gateway.start()
      await writing
    }
    assert.deepEqual(await allAreWhole(await S3Storage.open(options)), stored)
    assert.equal(stored.size, 8 * ROUNDS)
  })
})

describe('a writer that is killed', { skip }, () => {
  it('leaves only complete batches, including all that it reported as stored', async () => {
    const options = await optionsFor()
    const storage = await S3Storage.open(options)
    const said = new Set<string>()
    for (let round = 0; round < ROUNDS; round++) {
      const env = await keysOf(options)
      await using writer = spawnScript(script, [withoutFunction(options), `${round * 1_000_000}`], { env })
      await until(() => writer.lines.length >= 2 + 3 * round, { what: 'batches', timeout: 60_000 })
      writer.kill('SIGKILL')
      await writer.exited
      for (const line of writer.lines) said.add(line)
      const listed = await allAreWhole(storage)
      for (const key of said) assert.ok(listed.has(key), `${key} was stored before the kill`)
      assert.ok(listed.size <= said.size + round + 1, 'a kill between storing and answer leaves at most one more')
    }
  })

  it('in the middle of an upload leaves nothing, and the batch can be stored', async () => {
    const options = await optionsFor()
    const storage = await S3Storage.open(options)
    const key = batchKey(RUN_ID, 0, 19, 'zstd')
    const url = new URL(`${options.endpoint}/${options.bucket}/${options.prefix}/${key}`)
    const body = Buffer.alloc(1_000_000, 'x')
    const credentials = await options.credentials?.()
    assert.ok(credentials)
    const headers = signed(
      { method: 'PUT', url, headers: {}, body },
      { credentials, region: 'us-east-1', at: new Date() },
    )
    const socket = connect(Number(url.port), url.hostname)
    await once(socket, 'connect')
    const lines = Object.entries({ host: url.host, 'content-length': body.length, ...headers })
    socket.write(`PUT ${url.pathname} HTTP/1.1\r\n${lines.map(line => line.join(': ')).join('\r\n')}\r\n\r\n`)
    await new Promise(resolve => socket.write(body.subarray(0, 600_000), resolve))
    socket.destroy()
    assert.deepEqual((await storage.listBatches({ prefix: `${RUN_ID}/` })).items, [])
    const stored = await storage.writeBatch(batchOf(ticksOf(range(0, 20))))
    assert.deepEqual([stored.storageKey, stored.alreadyStored], [key, false])
    assert.deepEqual(await allAreWhole(storage), new Set([key]))
  })
})

describe('an object that is replaced while it is read', { skip }, () => {
  it('is never read half and half', async () => {
    const options = await optionsFor()
    const writer = await S3Storage.open(options)
    const big = ticksOf(range(0, 10), { genomeBytes: 1_000_000, isRandom: true })
    const { storageKey } = await writer.writeBatch(batchOf(big))
    let gets = 0
    const isOfBatch = (url: string): boolean => url.includes('batch_')
    await using door = await openDoor(options, ({ method, url }) => {
      if (method === 'GET' && isOfBatch(url)) gets++
      return 'pass'
    })
    const reader = await S3Storage.open({ ...options, endpoint: door.endpoint })
    const reading = reader.readTicks(storageKey)
    assert.equal((await reading.next()).value?.tick, 0)
    assert.ok(gets >= 2, 'it is larger than one piece')
    const url = `${options.prefix}/${storageKey}`
    await requestTo(options, { method: 'PUT', url, body: Buffer.alloc(9_000_000, 'y') })
    await assert.rejects(async () => {
      for await (const _tick of reading);
    }, /was replaced or removed while it was read|CorruptFile|can't be read/)
  })
})

describe('virtual-host style', { skip }, () => {
  it('puts the bucket into the name of the host', async () => {
    const options = await optionsFor()
    const { port } = new URL(options.endpoint ?? '')
    // Names below s3.test have no address: a proxy that the process is told of knows where they lead.
    const proxy = createServer()
    proxy.on('connect', (_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const server = connect(Number(port), '127.0.0.1')
      socket.pipe(server).pipe(socket)
      server.on('error', () => socket.destroy())
      socket.on('error', () => server.destroy())
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port: proxyPort } = proxy.address() as AddressInfo
    const hosts = { ...options, endpoint: `http://${DNS_NAME}:${port}`, addressing: 'virtual-host' } as const
    const address = `http://127.0.0.1:${proxyPort}`
    const env = { ...(await keysOf(options)), NODE_USE_ENV_PROXY: '1', HTTP_PROXY: address, NO_PROXY: '' }
    await using writer = spawnScript(script, [withoutFunction(hosts)], { env })
    await writer.waitForLine('batch_', 60_000)
    writer.kill('SIGKILL')
    await writer.exited
    proxy.close()
    assert.equal((await allAreWhole(await S3Storage.open(options))).has(writer.lines[0] ?? ''), true)
  })
})
