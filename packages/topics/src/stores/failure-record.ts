export type FailureRecord = { readonly name: string; readonly message: string }

export type FailedAttempt = FailureRecord & { readonly attempt: number; readonly at: number }
