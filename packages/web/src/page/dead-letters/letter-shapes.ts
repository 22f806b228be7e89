import type { StoredMessage } from '../messages/stored-message.ts'

/** Dead letters of one kind of error, as the server groups them. */
export type ErrorKind = {
  readonly topic: string
  readonly group: string
  readonly fingerprint: string
  readonly error: string
  readonly count: number
  readonly firstAt: string
  readonly lastAt: string
  readonly sample: { readonly id: number; readonly name: string; readonly message: string }
  readonly perMinute: readonly number[]
}

export type Attempt = {
  readonly attempt: number
  readonly at: string
  readonly name: string
  readonly message: string
}

export type Letter = StoredMessage & {
  readonly topic: string
  /** Id of the message in the log; `id` is that of the letter. */
  readonly logId: number
  readonly group: string
  readonly attempts: number
  readonly error: { readonly name: string; readonly message: string }
  readonly history: readonly Attempt[]
  readonly deadAt: string
}

export type ErrorKinds = {
  readonly errors: readonly ErrorKind[]
  readonly omitted: number
  readonly examined: number
  /** Whether all dead letters were examined. */
  readonly complete: boolean
}

/** Dead letters that match all of it, as the API takes it. */
export type LetterFilter = {
  readonly group?: string
  readonly fingerprint?: string
  readonly key?: string
  readonly since?: string
  readonly ids?: readonly number[]
}

export type DryRun = { readonly matching: number; readonly gone: number; readonly orphaned: number }
