import { signal } from '@preact/signals'

const API = '/api/v1'
const TIMEOUT_MS = 15_000

/** Incremented whenever the server says that nobody is logged in. */
export const loggedOut = signal(0)
/** Sent with every write of a session. */
export const csrf = signal('')

/** A refusal of the server, in its own words. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  /** When to retry, if the server says so. */
  readonly retryAfterMs: number | undefined
  /** Further fields of the problem. */
  readonly fields: { readonly [name: string]: unknown }

  constructor(status: number, code: string, detail: string, retryAfterMs?: number, fields = {}) {
    super(detail)
    this.name = 'Problem'
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
    this.fields = fields
  }
}

/** The server did not answer. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

type Asked = {
  readonly signal?: AbortSignal
  readonly query?: { readonly [name: string]: string | number | boolean | undefined }
  readonly timeoutMs?: number
  /** The server may answer with what it read for somebody else a second ago. */
  readonly isShared?: true
}

export const get = async <T>(path: string, asked: Asked = {}): Promise<T> =>
  (await (await send('GET', path, undefined, asked)).json()) as T

/** As the server wrote it, for numbers that JavaScript would round. */
export const getText = async (path: string, asked: Asked = {}): Promise<string> =>
  await (await send('GET', path, undefined, asked)).text()

/** Writes; an answer without a body is undefined. */
export async function write<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body: object | RawBody = {},
  asked: Asked = {},
): Promise<T> {
  const answer = await send(method, path, body, asked)
  return (answer.status === 204 ? undefined : await answer.json()) as T
}

/** A body that is already JSON: large numbers in it stay exact. */
export class RawBody {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

async function send(
  method: string,
  path: string,
  body: object | RawBody | undefined,
  { signal: given, query, timeoutMs = TIMEOUT_MS, isShared }: Asked,
): Promise<Response> {
  const url = new URL(API + path, location.href)
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  const timeout = AbortSignal.timeout(timeoutMs)
  const hasBody = body !== undefined && method !== 'DELETE'
  const answer = await fetch(url, {
    method,
    headers: {
      accept: 'application/json',
      ...(isShared && { 'cache-control': 'max-age=1' }),
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && csrf.value !== '' && { 'x-csrf-token': csrf.value }),
    },
    ...(hasBody && { body: body instanceof RawBody ? body.json : JSON.stringify(body) }),
    signal: given === undefined ? timeout : AbortSignal.any([given, timeout]),
  }).catch(error => {
    if (given?.aborted) throw error
    throw new Unreachable(
      timeout.aborted ? `The server did not answer within ${timeoutMs / 1000} s` : 'The server cannot be reached',
    )
  })
  if (answer.ok) return answer
  const problem = await problemOf(answer)
  // A wrong token at the login does not end a session.
  if (answer.status === 401 && !(method === 'POST' && path === '/session')) loggedOut.value++
  throw problem
}

async function problemOf(answer: Response): Promise<Problem> {
  const { detail, code, ...fields } = await (answer.json() as Promise<{ detail?: string; code?: string }>).catch(
    () => ({
      detail: undefined,
      code: undefined,
    }),
  )
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined
  return new Problem(answer.status, code ?? `HTTP ${answer.status}`, detail ?? answer.statusText, retryAfterMs, fields)
}

/** A path of the API; each part is escaped. */
export const at = (...parts: (string | number)[]): string =>
  parts.map(part => `/${encodeURIComponent(part === '' ? '-' : part)}`).join('')
