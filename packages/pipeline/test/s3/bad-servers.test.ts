/** Servers, credentials, buckets and clocks that are not as they should be. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError } from 'tidemark'
import { isFast } from '../../../../testing/fast.ts'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { findFreePort } from '../../../../testing/free-port.ts'
import { sharedObjectStore, skipWithoutRadosgw } from '../../../../testing/radosgw.ts'
import {
  BucketNotFoundError,
  batchOf,
  ConflictError,
  isEnvironmentFault,
  makeRunId,
  S3Storage,
  type S3StorageOptions,
  StorageAccessError,
  StorageError,
  StorageFullError,
  StorageUnreachableError,
  StorageUnsuitableError,
} from '../../src/index.ts'
import { s3Options } from '../storage/places.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { openDoor } from './door.ts'
import { requestTo } from './requests.ts'

const skip = isFast ? 'left out of test:fast' : skipWithoutRadosgw()
const onServer = (
  title: string,
  work: (options: S3StorageOptions, t: import('node:test').TestContext) => Promise<void>,
) => {
  it(title, { skip }, async t => {
    const options = await s3Options()
    await requestTo(options, { method: 'PUT', url: '' })
    await work(options, t)
  })
}

const failure = async (work: Promise<unknown>): Promise<Error> =>
  await work.then(
    () => assert.fail('it should fail'),
    error => error as Error,
  )

describe('a server without conditional writes', () => {
  onServer('is refused when it ignores the condition', async options => {
    await using door = await openDoor(options, () => 'pass', ['if-none-match'])
    const error = await failure(S3Storage.open({ ...options, endpoint: door.endpoint }))
    assert.ok(error instanceof StorageUnsuitableError)
    assert.match(error.message, /it replaces an object that must be kept.*If-None-Match/)
    assert.equal(isEnvironmentFault(error), false, 'waiting does not help')
    // A storage that is there already does not hide it.
    await S3Storage.open(options)
    await assert.rejects(S3Storage.open({ ...options, endpoint: door.endpoint }), StorageUnsuitableError)
  })

  onServer('is refused when it says so', async options => {
    await using door = await openDoor(options, ({ method }) => (method === 'PUT' ? { status: 501 } : 'pass'))
    await assert.rejects(S3Storage.open({ ...options, endpoint: door.endpoint }), StorageUnsuitableError)
  })
})

describe('writers of the same batch', () => {
  onServer('store it once, whoever comes first, and others learn of it', async options => {
    const run = makeRunId()
    const writers = await Promise.all(range(0, 6).map(async () => await S3Storage.open(options)))
    const batch = batchOf(ticksOf(range(0, 20), { runId: run, genomeBytes: 5_000 }))
    const stored = await Promise.all(writers.map(async writer => await writer.writeBatch(batch)))
    assert.equal(stored.filter(({ alreadyStored }) => !alreadyStored).length, 1)
    // The same range with other ticks: one of them is stored as a whole, and each of the others is told.
    const different = writers.map(async (writer, at) => {
      return await writer.writeBatch(batchOf(ticksOf([100, 102], { runId: run, genomeBytes: 100 + at })))
    })
    const outcomes = await Promise.allSettled(different)
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof ConflictError, String(outcome.reason))
    }
  })
})

describe('a bucket that does not exist', () => {
  onServer('is named, and used as soon as it does', async options => {
    const missing = { ...options, bucket: `tidemark-${randomUUID()}` }
    const error = await failure(S3Storage.open(missing))
    assert.ok(error instanceof BucketNotFoundError)
    assert.match(error.message, new RegExp(missing.bucket))
    assert.equal(isEnvironmentFault(error), true)
    await requestTo(missing, { method: 'PUT', url: '' })
    const storage = await S3Storage.open(missing)
    await storage.writeBatch(batchOf(ticksOf([1])))
    assert.equal((await storage.listRuns()).items.length, 1)
  })

  onServer('is not made by asking what is there', async options => {
    assert.equal(await S3Storage.openExisting({ ...options, prefix: `none/${randomUUID()}` }), null)
    const missing = { ...options, bucket: `tidemark-${randomUUID()}` }
    await assert.rejects(S3Storage.openExisting(missing), BucketNotFoundError)
  })
})

describe('credentials', () => {
  onServer('that are wrong are refused without being shown, and corrected ones are used', async options => {
    const right = await options.credentials?.()
    const wrong = { accessKeyId: right?.accessKeyId ?? '', secretAccessKey: 'WRONG-SECRET-1', sessionToken: undefined }
    let current = wrong
    const changing = { ...options, credentials: () => current }
    for (const each of [wrong, { ...wrong, accessKeyId: 'NOBODY' }]) {
      current = each
      const error = await failure(S3Storage.open(changing))
      assert.ok(error instanceof StorageAccessError, String(error))
      assert.match(error.message, /answers 403 (SignatureDoesNotMatch|InvalidAccessKeyId)/)
      assert.equal(isEnvironmentFault(error), true)
      const shown = `${error.message}${error.stack}${JSON.stringify(error)}${String(error.cause)}`
      assert.doesNotMatch(shown, /WRONG-SECRET|Signature=/)
    }
    current = { ...wrong, secretAccessKey: right?.secretAccessKey ?? '' }
    const storage = await S3Storage.open(changing)
    // They are replaced while it is open: the old ones are refused, and the function is asked for others.
    let asked = 0
    const replaced = await S3Storage.open({ ...options, credentials: () => (asked++ === 0 ? current : current) })
    await replaced.look()
    assert.equal(asked, 1, 'kept until they are refused')
    await storage.look()
  })

  onServer('that expire are requested again, also when the server refuses them first', async options => {
    const right = await options.credentials?.()
    const [accessKeyId, secretAccessKey] = [right?.accessKeyId ?? '', right?.secretAccessKey ?? '']
    let asked = 0
    const expiring = await S3Storage.open({
      ...options,
      credentials: () => ({ accessKeyId, secretAccessKey, expiration: new Date(asked++) }),
    })
    const before = asked
    await expiring.look()
    assert.equal(asked, before + 1)
    let calls = 0
    const stale = {
      ...options,
      credentials: () => ({ accessKeyId, secretAccessKey: calls++ === 0 ? 'stale' : secretAccessKey }),
    }
    await (await S3Storage.open(stale)).look()
    assert.equal(calls, 2)
  })

  onServer('come from the environment or a profile file', async (options, t) => {
    using folder = temporaryFolder()
    const { accessKeyId, secretAccessKey } = await sharedObjectStore()
    const file = join(folder.path, 'credentials')
    const config = join(folder.path, 'config')
    writeFileSync(
      file,
      `[other]\naws_access_key_id=x\n\n[ work ]\n  aws_access_key_id = nested\naws_access_key_id = ${accessKeyId}\naws_secret_access_key=${secretAccessKey}\n`,
    )
    writeFileSync(config, '[profile work]\nregion = us-east-1\n')
    const { credentials: _, ...none } = options
    const environment = t.mock.property(process, 'env', {
      ...process.env,
      ...{ HOME: folder.path, AWS_SHARED_CREDENTIALS_FILE: file, AWS_CONFIG_FILE: config },
      ...{ AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, AWS_PROFILE: undefined },
    } as NodeJS.ProcessEnv)
    const error = await failure(S3Storage.open(none))
    assert.ok(error instanceof StorageAccessError)
    assert.match(error.message, /neither AWS_ACCESS_KEY_ID .* nor a profile 'default'/)
    await (await S3Storage.open({ ...none, profile: 'work' })).look()
    process.env.AWS_PROFILE = 'work'
    await (await S3Storage.open(none)).look()
    Object.assign(process.env, {
      AWS_PROFILE: 'other',
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    })
    await (await S3Storage.open(none)).look()
    environment.mock.restore()
  })

  it('never appear in an error of the options or of the function', async () => {
    const bucket = 'ticks'
    const secret = 'VERY-SECRET'
    const tries: Promise<unknown>[] = [
      S3Storage.open({ bucket, secretAccessKey: secret } as S3StorageOptions),
      S3Storage.open({ bucket, credentials: { secretAccessKey: secret } as never }),
      S3Storage.open({ bucket, endpoint: `https://key:${secret}@objects.example.com` }),
      S3Storage.open({ bucket, endpoint: 'http://127.0.0.1:9', credentials: () => Promise.reject(new Error(secret)) }),
      S3Storage.open({
        bucket,
        endpoint: 'http://127.0.0.1:9',
        credentials: () => ({ secretAccessKey: secret }) as never,
      }),
    ]
    for (const each of tries) {
      const error = await failure(each)
      assert.ok(error instanceof ConfigError || error instanceof StorageAccessError, String(error))
      assert.doesNotMatch(`${error.message}${error.stack}${JSON.stringify(error)}${String(error.cause)}`, /VERY-SECRET/)
    }
  })
})

describe('a clock that is off', () => {
  for (const minutes of [-40, 40]) {
    onServer(`by ${minutes} minutes is corrected by the server's`, async (options, t) => {
      const real = Date.now
      const storage = await S3Storage.open(options)
      t.mock.method(Date, 'now', () => real() + minutes * 60_000)
      await storage.writeBatch(batchOf(ticksOf([1])))
      const offset = storage.metrics().clockOffsetMs
      assert.ok(Math.abs(offset + minutes * 60_000) < 5_000, `${offset} ms`)
      await (await S3Storage.open({ ...options, prefix: `${options.prefix}/new` })).look()
    })
  }
})

describe('a server that is overloaded, cut off or full', () => {
  onServer('is asked again, and the batch is stored once', async options => {
    const storage = await S3Storage.open(options)
    const faults = ['cut before', 'cut after', { status: 503, body: '<Code>SlowDown</Code>' }, { status: 409 }] as const
    for (const [number, fault] of faults.entries()) {
      let left = 2
      await using door = await openDoor(options, ({ method, url }) => {
        return method === 'PUT' && url.includes('batch_') && left-- > 0 ? fault : 'pass'
      })
      const behind = await S3Storage.open({ ...options, endpoint: door.endpoint })
      const ticks = ticksOf([number])
      const { storageKey } = await behind.writeBatch(batchOf(ticks))
      assert.deepEqual(await storage.readBatch(storageKey), ticks)
      assert.equal(behind.metrics().retries >= 1, true)
    }
    assert.deepEqual(await storage.listQuarantined(makeRunId()), [])
  })

  onServer('is reported when it does not recover, with what it waits for', async options => {
    const endpoint = `http://127.0.0.1:${await findFreePort()}`
    const gone = await failure(S3Storage.open({ ...options, endpoint, maxAttempts: 2 }))
    assert.ok(gone instanceof StorageUnreachableError)
    assert.match(gone.message, /ECONNREFUSED/)
    await using silent = await openDoor(options, () => ({ status: 500, body: '<Code>InternalError</Code>' }))
    const broken = await failure(S3Storage.open({ ...options, endpoint: silent.endpoint, maxAttempts: 2 }))
    assert.match(broken.message, /it answers 500 InternalError/)
    await using full = await openDoor(options, ({ url }) =>
      url.includes('batch_') ? { status: 403, body: '<Code>QuotaExceeded</Code>' } : 'pass',
    )
    const storage = await S3Storage.open({ ...options, endpoint: full.endpoint })
    const error = await failure(storage.writeBatch(batchOf(ticksOf([1]))))
    assert.ok(error instanceof StorageFullError)
    assert.equal([gone, broken, error].every(isEnvironmentFault), true)
  })
})

describe('an answer that is a success and is none', () => {
  onServer('does not cost the broken object that could not be copied', async options => {
    const storage = await S3Storage.open(options)
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1])))
    // S3 begins the answer before it has copied, so an error comes with the status 200.
    const body = '<?xml version="1.0"?><Error><Code>InternalError</Code><Message>copying failed</Message></Error>'
    await using door = await openDoor(options, ({ headers }) =>
      headers['x-amz-copy-source'] === undefined ? 'pass' : { status: 200, body },
    )
    const behind = await S3Storage.open({ ...options, endpoint: door.endpoint, maxAttempts: 2 })
    await assert.rejects(behind.quarantine(storageKey, 'broken'), StorageUnreachableError)
    assert.equal((await storage.readBatch(storageKey)).length, 1)
  })

  onServer('of a listing that is cut off is refused, and not taken for the end', async options => {
    const storage = await S3Storage.open(options)
    await storage.writeBatch(batchOf(ticksOf([1])))
    const body = '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'
    await using door = await openDoor(options, ({ url }) =>
      url.includes('list-type') ? { status: 200, body } : 'pass',
    )
    const behind = await S3Storage.open({ ...options, endpoint: door.endpoint })
    await assert.rejects(behind.listRuns(), StorageError)
  })
})

describe('reading', () => {
  onServer('needs one request for a batch, and no right to write', async options => {
    const writer = await S3Storage.open(options)
    const { storageKey } = await writer.writeBatch(batchOf(ticksOf(range(0, 10))))
    await using door = await openDoor(options, ({ method }) => {
      return method === 'GET' ? 'pass' : { status: 403, body: '<Code>AccessDenied</Code>' }
    })
    const reader = await S3Storage.open({ ...options, endpoint: door.endpoint })
    const before = door.passed.length
    assert.equal((await reader.readBatch(storageKey)).length, 10)
    assert.equal(door.passed.length - before, 1)
    await assert.rejects(reader.writeBatch(batchOf(ticksOf([50]))), StorageAccessError)
  })
})
