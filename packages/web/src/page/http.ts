import { signal } from '@preact/signals'

const API = '/api/v1'
const TIMEOUT_MS = 15_000

/** Rises whenever the server says that nobody is logged in. */
export const loggedOut = signal(0)
/** Sent with every write of a session. */
export const csrf = signal('')

/** What the server refused, in its own words. */
export class Problem extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.name = 'Problem'
    this.status = status
    this.code = code
  }
}

/** The server did not answer. */
class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

type Asked = {
  readonly signal?: AbortSignal
  readonly query?: { readonly [name: string]: string | number | boolean | undefined }
}

export const get = async <T>(path: string, asked: Asked = {}): Promise<T> =>
  (await (await send('GET', path, undefined, asked)).json()) as T

/** Writes; an answer without a body is undefined. */
export async function write<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body: object = {}): Promise<T> {
  const answer = await send(method, path, body, {})
  return (answer.status === 204 ? undefined : await answer.json()) as T
}

async function send(
  method: string,
  path: string,
  body: object | undefined,
  { signal: given, query }: Asked,
): Promise<Response> {
  const url = new URL(API + path, location.href)
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const hasBody = body !== undefined && method !== 'DELETE'
  const answer = await fetch(url, {
    method,
    headers: {
      accept: 'application/json',
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && csrf.value !== '' && { 'x-csrf-token': csrf.value }),
    },
    ...(hasBody && { body: JSON.stringify(body) }),
    signal: given === undefined ? timeout : AbortSignal.any([given, timeout]),
  }).catch(error => {
    if (given?.aborted) throw error
    throw new Unreachable(timeout.aborted ? 'The server did not answer within 15 s' : 'The server cannot be reached')
  })
  if (answer.ok) return answer
  throw await problemOf(answer)
}

async function problemOf(answer: Response): Promise<Problem> {
  const { detail, code } = await (answer.json() as Promise<{ detail?: string; code?: string }>).catch(() => ({
    detail: undefined,
    code: undefined,
  }))
  if (answer.status === 401) loggedOut.value++
  return new Problem(answer.status, code ?? `HTTP ${answer.status}`, detail ?? answer.statusText)
}

/** A path of the API; each part is escaped. */
export const at = (...parts: (string | number)[]): string =>
  parts.map(part => `/${encodeURIComponent(part === '' ? '-' : part)}`).join('')
