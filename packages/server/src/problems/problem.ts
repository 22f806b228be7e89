import { STATUS_CODES } from 'node:http'
import type { FastifyError } from 'fastify'
import { httpWords, withoutPaths } from './http-words.ts'
import { CODE_BY_FASTIFY_CODE, STATUS_BY_CODE } from './statuses.ts'

/** Every error response (RFC 9457). */
export type Problem = {
  /** Type as a URN, such as urn:tidemark:problem:stale-delivery. */
  readonly type: string
  /** Short description of the type. */
  readonly title: string
  /** HTTP status. */
  readonly status: number
  /** What happened, to what, and what to do. */
  readonly detail: string
  /** Stable code for programs. */
  readonly code: string
  /** Problems of the request, if the request is invalid. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
  /** For a tick that is not indexed: the indexed ticks before and after it, or null. */
  readonly nearest?: { readonly before: number | null; readonly after: number | null }
}

export const PROBLEM_TYPE = 'application/problem+json'

/** What a client may know about an error. Our own errors say what to do; others stay in the log. */
export function toProblem(error: unknown): Problem {
  const thrown = (typeof error === 'object' && error !== null ? error : {}) as Partial<FastifyError>
  const { code: given = '', message, validation, validationContext } = thrown
  const code = own(CODE_BY_FASTIFY_CODE, given) ?? given
  const status = own(STATUS_BY_CODE, code)
  if (status === undefined) return unexpected(thrown)
  const errors = validation?.map(({ instancePath, message: problem = '', params }) => ({
    path: `${validationContext ?? 'request'}${instancePath}`,
    message: `${problem}${namesOf(params)}`,
  }))
  // The client itself named the path, so it can be shown.
  const detail = code === 'TIDEMARK_NOT_FOUND' ? (message ?? '') : httpWords({ ...fieldsOf(thrown), code, message })
  const { nearest } = thrown as { readonly nearest?: Problem['nearest'] }
  return {
    ...problemOf(code, status, detail),
    ...(errors !== undefined && { errors }),
    ...(nearest !== undefined && { nearest }),
  }
}

/** Own properties only: every object also has a 'constructor'. */
const own = <T>(table: { readonly [code: string]: T }, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined

const fieldsOf = (error: object): { readonly [name: string]: unknown } => Object.fromEntries(Object.entries(error))

/** An error of the client without a code of ours, or an internal error. */
function unexpected({ statusCode = 500, message = '' }: Partial<FastifyError>): Problem {
  if (statusCode >= 400 && statusCode < 500)
    return problemOf('TIDEMARK_BAD_REQUEST', statusCode, withoutPaths(String(message)))
  return problemOf('TIDEMARK_INTERNAL', 500, 'Something failed inside the server; its log says what')
}

const problemOf = (code: string, status: number, detail: string): Problem => ({
  type: `urn:tidemark:problem:${code
    .replace(/^TIDEMARK_/, '')
    .replaceAll('_', '-')
    .toLowerCase()}`,
  title: STATUS_CODES[status] ?? 'Error',
  status,
  detail,
  code,
})

/** The validator names an extra property beside its message, not in it. */
function namesOf(params: Record<string, unknown> | undefined): string {
  const name = params?.additionalProperty
  return typeof name === 'string' ? ` ('${name.slice(0, 80)}')` : ''
}
