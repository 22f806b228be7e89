import { type CheckedOptions, checkOptions, type GivenOptions } from '../../config/option-table.ts'
import { S3_OPTIONS } from '../../config/s3-options.ts'
import { checkEndpoint } from './endpoint.ts'

/** Options of an S3Storage. */
export type S3StorageOptions = GivenOptions<typeof S3_OPTIONS>

export type CheckedS3Options = CheckedOptions<typeof S3_OPTIONS>

/**
 * Batches in a bucket of an S3-compatible server, for a configuration.
 *
 * @example
 * const storages = { ticks: s3({ bucket: 'ticks', endpoint: 'https://objects.example.com', prefix: 'production' }) }
 */
export function s3(options: S3StorageOptions): S3StorageOptions {
  return options
}

export const isS3 = (options: object): options is CheckedS3Options => 'bucket' in options

export function readS3Options(options: S3StorageOptions): CheckedS3Options {
  return checkOptions('storage', options, S3_OPTIONS)
}

export type S3Place = {
  readonly bucket: string
  /** `s3://bucket/prefix`, for people. */
  readonly name: string
  /** Server, without the bucket. */
  readonly endpoint: URL
  /** Start of the URL of every object, ending in '/'. */
  readonly base: URL
  /** Of every key: '' or ending in '/'. */
  readonly prefix: string
}

/** Where the objects are. In virtual-host style the bucket is part of the host's name. */
export function placeOf(options: CheckedS3Options, region: string, environment: NodeJS.ProcessEnv): S3Place {
  const { bucket, addressing } = options
  const named = options.endpoint ?? environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL
  const endpoint = new URL(checkEndpoint('storage.endpoint', named ?? `https://s3.${region}.amazonaws.com`))
  // A bucket with dots has no certificate as a host, and a number has no subdomains.
  const canBeHost = !bucket.includes('.') && !/^(\d+\.){3}\d+$|^\[|^localhost$/.test(endpoint.hostname)
  const isAmazon = named === undefined || /\.amazonaws\.com(\.cn)?$/.test(endpoint.hostname)
  const isHost = addressing === 'virtual-host' || (addressing === 'auto' && isAmazon && canBeHost)
  const prefix = options.prefix === undefined ? '' : `${options.prefix}/`
  const host = isHost ? `${bucket}.${endpoint.host}` : endpoint.host
  const base = new URL(`${endpoint.protocol}//${host}/${isHost ? '' : `${bucket}/`}`)
  return { bucket, name: `s3://${bucket}${prefix === '' ? '' : `/${options.prefix}`}`, endpoint, base, prefix }
}
