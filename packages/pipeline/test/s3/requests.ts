import type { S3StorageOptions } from '../../src/index.ts'
// Inside: tests change objects behind a storage's back, which needs signed requests.
import { signed } from '../../src/storage/s3/sign.ts'

type Request = {
  readonly method: string
  /** After the bucket; '' is the bucket itself. */
  readonly url: string
  readonly body?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** One request in path style, whatever the answer. */
export async function requestTo(
  { endpoint, bucket, credentials }: S3StorageOptions,
  { method, url, body, headers = {} }: Request,
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Buffer }> {
  const keys = await credentials?.()
  if (keys === undefined) throw new Error('The options have no credentials')
  const address = new URL(`${endpoint}/${bucket}/${url}`)
  const signing = { credentials: keys, region: 'us-east-1', at: new Date() }
  const answer = await fetch(address, {
    method,
    headers: signed({ method, url: address, headers, body }, signing),
    ...(body !== undefined && { body: body as Uint8Array<ArrayBuffer> }),
  })
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) }
}
