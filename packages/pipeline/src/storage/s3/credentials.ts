import { StorageAccessError } from '../errors.ts'
import { readProfile } from './profile-file.ts'
import type { S3Credentials } from './sign.ts'

/** Keys to a bucket from anywhere, called when they are needed and again when they expire or are refused. */
export type CredentialsFunction = () => S3Credentials | Promise<S3Credentials>

export type CredentialsOptions = {
  readonly credentials?: CredentialsFunction | undefined
  readonly profile?: string | undefined
}

type Environment = { readonly [name: string]: string | undefined }

/** Temporary keys are requested again this long before they expire. */
const EARLY_MS = 60_000

/** Keeps keys until they expire or are refused. */
export class CredentialsCache {
  readonly #load: () => Promise<S3Credentials>
  #loading: Promise<S3Credentials> | undefined
  #current: S3Credentials | undefined

  constructor(load: () => Promise<S3Credentials>) {
    this.#load = load
  }

  async get(): Promise<S3Credentials> {
    const { expiration } = this.#current ?? {}
    const isOver = expiration !== undefined && expiration.getTime() - EARLY_MS < Date.now()
    if (this.#current !== undefined && !isOver) return this.#current
    return await this.#renew()
  }

  /** After these were refused: true if there are others now. */
  async replace(refused: S3Credentials): Promise<boolean> {
    if (this.#current !== refused) return true // Somebody else has.
    const next = await this.#renew()
    return (
      next.secretAccessKey !== refused.secretAccessKey ||
      next.accessKeyId !== refused.accessKeyId ||
      next.sessionToken !== refused.sessionToken
    )
  }

  async #renew(): Promise<S3Credentials> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined
    })
    this.#current = await this.#loading
    return this.#current
  }
}

/** From the function; else from the profile that is named; else from the environment; else from the default profile. */
export function credentialsFrom(
  { credentials, profile }: CredentialsOptions,
  place: string,
  environment: Environment = process.env,
): CredentialsCache {
  return new CredentialsCache(async () => {
    const found =
      credentials === undefined
        ? ((profile === undefined ? ofEnvironment(environment) : undefined) ??
          (await ofProfile(profile ?? environment.AWS_PROFILE ?? 'default', place, environment)))
        : await ofFunction(credentials, place)
    return checked(found, place)
  })
}

function ofEnvironment(environment: Environment): S3Credentials | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment
  if (!accessKeyId || !secretAccessKey) return undefined
  return { accessKeyId, secretAccessKey, sessionToken: environment.AWS_SESSION_TOKEN || undefined }
}

async function ofProfile(name: string, place: string, environment: Environment): Promise<S3Credentials> {
  try {
    const { credentials } = await readProfile(name, environment)
    if (credentials !== undefined) return credentials
  } catch (error) {
    throw new StorageAccessError(place, `the profile file can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
  throw new StorageAccessError(
    place,
    `there are no credentials: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, nor a profile ` +
      `'${name}' with keys in ~/.aws/credentials, nor a function`,
  )
}

/** Its error may contain anything, also a secret, so it is not passed on. */
async function ofFunction(credentials: CredentialsFunction, place: string): Promise<S3Credentials> {
  try {
    return await credentials()
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error
    throw new StorageAccessError(place, `the function that returns the credentials failed (${kind})`)
  }
}

function checked(found: S3Credentials, place: string): S3Credentials {
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = found ?? {}
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== '' && !/[\s\0]/.test(value)
  const isValid = isText(accessKeyId) && isText(secretAccessKey) && (sessionToken === undefined || isText(sessionToken))
  if (isValid && (expiration === undefined || (expiration instanceof Date && !Number.isNaN(expiration.getTime()))))
    return found
  throw new StorageAccessError(
    place,
    'the credentials are incomplete: accessKeyId and secretAccessKey are texts without spaces, expiration a Date',
  )
}
