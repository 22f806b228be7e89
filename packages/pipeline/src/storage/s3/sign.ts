/**
 * AWS Signature Version 4, the one way to sign a request that every S3 server knows. Paths and header values come from
 * this folder and hold no characters that need escaping.
 */
import { createHash, createHmac } from 'node:crypto'

/** Keys that sign requests. */
export type S3Credentials = {
  /** Id of the key. */
  readonly accessKeyId: string
  /** The secret. It is never sent. */
  readonly secretAccessKey: string
  /** Token of temporary keys. */
  readonly sessionToken?: string | undefined
  /** When temporary keys expire. They are requested again a minute before. Without it, when the server refuses them. */
  readonly expiration?: Date | undefined
}

export type Unsigned = {
  readonly method: string
  readonly url: URL
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
}

export type Signing = { readonly credentials: S3Credentials; readonly region: string; readonly at: Date }

/** The headers with those of the signature. The server refuses another body, another path and another time. */
export function signed(request: Unsigned, { credentials, region, at }: Signing): Record<string, string> {
  const { method, url, body } = request
  const time = at.toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
  const bodyHash = sha256(body ?? '')
  const { sessionToken } = credentials
  const headers: Record<string, string> = {
    ...request.headers,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
    ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
  }
  const lines = Object.entries({ ...headers, host: url.host }).sort(byName)
  const names = lines.map(([name]) => name).join(';')
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url.searchParams),
    ...lines.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    names,
    bodyHash,
  ].join('\n')
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const signature = hmac(signingKey(credentials.secretAccessKey, scope), text).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { ...headers, authorization }
}

/** As the signature and the URL both want it: spaces as %20, and `!'()*` escaped too. */
export const escaped = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, letter => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)

function canonicalQuery(query: URLSearchParams): string {
  const pairs = [...query].map(([name, value]) => [escaped(name), escaped(value)] as const)
  return pairs
    .sort((a, b) => byName(a, b))
    .map(pair => pair.join('='))
    .join('&')
}

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : a > b ? 1 : 0)
const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: Uint8Array | string, data: string): Buffer => createHmac('sha256', key).update(data).digest()

const signingKey = (secret: string, scope: string): Buffer =>
  scope.split('/').reduce<Buffer>((key, part) => hmac(key, part), Buffer.from(`AWS4${secret}`))
