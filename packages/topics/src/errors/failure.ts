import { inspect, types } from 'node:util'
import type { FailureRecord } from '../stores/failure-record.ts'

const LONGEST_NAME = 200
const LONGEST_MESSAGE = 2_000
const UNREADABLE = 'The error cannot be read: looking at it throws'

/** A thrown value, inspected once: user code may throw anything, and inspecting it again may throw too. */
export type Failure = {
  /** The thrown value if it is an ordinary error; otherwise an error that describes it. Safe to pass on. */
  readonly error: Error
  /** Short texts that every engine can store. */
  readonly record: FailureRecord
}

/** Never throws, whatever the value. */
export function toFailure(thrown: unknown): Failure {
  const record = describeFailure(thrown)
  return { error: isOrdinary(thrown) ? thrown : namedError(record), record }
}

/** The thrown value as an error whose name and message can be read. Never throws. */
export const toError = (thrown: unknown): Error => (isOrdinary(thrown) ? thrown : toFailure(thrown).error)

/** Never throws. */
export function describeFailure(thrown: unknown): FailureRecord {
  try {
    if (!isObject(thrown)) return { name: 'Error', message: storable(String(thrown), LONGEST_MESSAGE) }
    if (types.isProxy(thrown)) return { name: 'Error', message: storable(shown(thrown), LONGEST_MESSAGE) }
    return { name: storable(nameOf(thrown), LONGEST_NAME), message: storable(messageOf(thrown), LONGEST_MESSAGE) }
  } catch {
    return { name: 'Error', message: UNREADABLE }
  }
}

/** Only the message, for sentences. Never throws. */
export const reasonOf = (thrown: unknown): string => describeFailure(thrown).message

/**
 * Nobody handles the rejection of something that should not have been a promise; unhandled it would end the process.
 */
export function ignoreRejection(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => undefined)
}

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  isObject(value) && typeof (value as { then?: unknown }).then === 'function'

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'

function isOrdinary(thrown: unknown): thrown is Error {
  try {
    if (!isObject(thrown) || types.isProxy(thrown) || !(thrown instanceof Error)) return false
    return [thrown.name, thrown.message, thrown.stack ?? ''].every(text => typeof text === 'string')
  } catch {
    return false
  }
}

function namedError({ name, message }: FailureRecord): Error {
  const error = new Error(message)
  error.name = name
  return error
}

function nameOf(thrown: object): string {
  const name = read(thrown, 'name')
  return thrown instanceof Error && typeof name === 'string' && name !== '' ? name : 'Error'
}

function messageOf(thrown: object): string {
  const message = read(thrown, 'message')
  if (typeof message === 'string') return message
  if (!(thrown instanceof Error)) return shown(thrown)
  if (message === UNREAD) return UNREADABLE
  return message === undefined || message === null ? 'An error without a message' : shown(message)
}

const UNREAD = Symbol('unread')

function read(thrown: object, name: 'name' | 'message'): unknown {
  try {
    return Reflect.get(thrown, name)
  } catch {
    return UNREAD
  }
}

/** Does not invoke getters and proxy traps. */
function shown(value: unknown): string {
  try {
    return inspect(value, {
      depth: 2,
      customInspect: false,
      breakLength: Number.POSITIVE_INFINITY,
      maxArrayLength: 20,
      maxStringLength: 500,
    })
  } catch {
    return UNREADABLE
  }
}

/** PostgreSQL's jsonb can store neither NUL nor half a surrogate pair; the record is the same on every store. */
function storable(text: string, longest: number): string {
  const short = text.length > longest ? `${text.slice(0, longest - 1)}…` : text
  return short.toWellFormed().replaceAll('\0', '\ufffd')
}
