import { ConfigError } from 'tidemark'
import type { CredentialsFunction } from '../storage/s3/credentials.ts'
import { checkEndpoint } from '../storage/s3/endpoint.ts'
import { choice, duration, type OptionTable, rule, text, whole } from './option-table.ts'

const named = <const More extends object>(about: { readonly says: string } & More, pattern: RegExp, allowed: string) =>
  rule<string, More>(about, allowed, (path, value) => {
    if (typeof value === 'string' && pattern.test(value)) return value
    throw new ConfigError(path, value, allowed)
  })

/** A storage in a bucket. */
export const S3_OPTIONS = {
  bucket: named(
    { says: 'Bucket of the batch files. It must exist.', required: true, isText: true },
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
    'the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens',
  ),
  endpoint: rule(
    {
      says: 'Address of the server.',
      otherwise: '`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or Amazon S3',
      isText: true,
    },
    'the address of a server such as `https://objects.example.com`, without credentials',
    checkEndpoint,
  ),
  prefix: named(
    { says: 'Beginning of all keys, so that storages can share a bucket.', otherwise: 'none', isText: true },
    // No escapes in URLs, and nothing that a URL would resolve, such as '..'.
    /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/,
    "letters, digits, '.', '_' and '-', in parts separated by '/'",
  ),
  region: named(
    {
      says: 'Region of the bucket, which is part of every signature.',
      otherwise: "`AWS_REGION`, `AWS_DEFAULT_REGION`, that of the profile, or `'us-east-1'`",
      isText: true,
    },
    /^[a-z0-9-]{1,64}$/,
    "the name of a region, such as 'eu-central-1'",
  ),
  addressing: choice(['auto', 'path', 'virtual-host'], {
    says:
      'Where the bucket is in a URL: `path` puts it first in the path, `virtual-host` into the name of the host. `auto`: ' +
      '`virtual-host` on Amazon S3 and `path` elsewhere.',
    default: 'auto',
  }),
  profile: text({
    says: 'Profile of `~/.aws/credentials` and `~/.aws/config` with the keys.',
    otherwise: '`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or profile `AWS_PROFILE`, or `default`',
  }),
  credentials: rule(
    {
      says: 'Function that returns the keys. It is called again when they expire or are refused.',
      otherwise: 'environment and profile',
      secret: true,
    },
    'a function that returns `{ accessKeyId, secretAccessKey, sessionToken, expiration }`',
    (path, value): CredentialsFunction => {
      if (typeof value === 'function') return value as CredentialsFunction
      throw new ConfigError(path, '(hidden)', 'a function: secrets do not belong into a configuration')
    },
  ),
  requestTimeout: duration({
    says: 'Maximum time without an answer, and a second more per megabyte that is transferred.',
    min: 1,
    default: '10s',
  }),
  maxAttempts: whole({
    says:
      'Attempts of a request that the server does not answer, or answers with 429, 500 or above, before the service ' +
      'that needs it waits and tries again.',
    min: 1,
    max: 20,
    default: 4,
  }),
  level: whole({ says: 'zstd compression level, 1 to 19.', min: 1, max: 19, default: 3 }),
  maxTickBytes: whole({ says: 'Maximum size of a tick in bytes.', min: 1, max: 2 ** 31 - 1, default: 64 * 1024 ** 2 }),
  maxFileBytes: whole({ says: 'Maximum decompressed size of a file in bytes.', min: 1, default: 4 * 1024 ** 3 }),
  maxBatchBytes: whole({
    says: 'Maximum bytes of a batch in memory: compressed, while it is uploaded, or read at once.',
    min: 1,
    default: 512 * 1024 ** 2,
  }),
  sharedReadBytes: whole({
    says: 'Memory in bytes in which services of one thread share a batch, so that it is fetched once. `0` disables it.',
    min: 0,
    default: 16 * 1024 ** 2,
  }),
} as const satisfies OptionTable
