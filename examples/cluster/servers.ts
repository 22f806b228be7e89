import { skipWithoutNats } from '../../testing/nats-binary.ts'
import { startNats } from '../../testing/nats-server.ts'
import { startPostgres } from '../../testing/postgres-server.ts'
import { makeBucket, skipWithoutRadosgw, startObjectStore } from '../../testing/radosgw.ts'
import type { Account } from './account.ts'
import type { Arguments } from './arguments.ts'

/** Servers that every machine of a real cluster reaches. */
export type Servers = AsyncDisposable & {
  /** PostgreSQL of the index, and of the topics unless they are on NATS. */
  readonly database: string
  readonly topics: string
  readonly bucket: string
  /** Where the bucket is, and its keys, as environment variables. */
  readonly storage: Readonly<Record<string, string>>
}

const BUCKET = 'ticks'

/** A server can't be had on this machine. */
export class ServerMissingError extends Error {}

export function requireServers({ topics }: Arguments): void {
  const missing = skipWithoutRadosgw() || (topics === 'nats' && skipWithoutNats())
  if (missing) throw new ServerMissingError(missing)
}

/** Loopback, free ports, data in temporary folders. They end with this process, however it ends. */
export async function startServers({ topics }: Arguments, account: Account, signal: AbortSignal): Promise<Servers> {
  await using stack = new AsyncDisposableStack()
  const step = async <T extends AsyncDisposable>(what: string, start: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted()
    account.wait(`starting ${what}`)
    return stack.use(await start())
  }
  const database = await step('PostgreSQL', startPostgres)
  const objects = await step('an S3 server', startObjectStore)
  await makeBucket(objects, BUCKET)
  const nats = topics === 'nats' ? await step('three NATS servers', () => startNats({ nodes: 3 })) : undefined
  const kept = stack.move()
  return {
    database: database.url,
    topics: nats === undefined ? database.url : `${nats.url}?replicas=3`,
    bucket: BUCKET,
    storage: {
      AWS_ENDPOINT_URL_S3: objects.endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: objects.accessKeyId,
      AWS_SECRET_ACCESS_KEY: objects.secretAccessKey,
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
