import { isThenable, reasonOf } from '../errors/failure.ts'
import { SchemaError } from '../errors.ts'

/** The part of the Standard Schema interface used here. Zod, Valibot and ArkType implement it. */
export type Schema<Output = unknown> = {
  /** The validator, as defined by Standard Schema. */
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

type SchemaIssue = {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export const isSchema = (value: object): boolean => '~standard' in value

/** The value the schema makes of it, or a SchemaError that lists what is wrong. Sync where the schema is. */
export function validate<T>(schema: Schema<T>, topic: string, value: unknown): T | Promise<T> {
  const result = schema['~standard'].validate(value)
  // A promise of another library or realm is one too.
  return isThenable(result) ? Promise.resolve(result).then(each => unwrap(each, topic)) : unwrap(result, topic)
}

function unwrap<T>(result: SchemaResult<T>, topic: string): T {
  if (result.issues === undefined) return result.value
  throw new SchemaError(topic, issuesOf(result.issues))
}

/** Validators are foreign code: an issue that can't be read is told as such. */
function issuesOf(issues: readonly SchemaIssue[]): { message: string; path: string }[] {
  try {
    return issues.map(({ message, path }) => ({ message: String(message), path: (path ?? []).map(pathPart).join('.') }))
  } catch (error) {
    return [{ message: `the schema's issues can't be read (${reasonOf(error)})`, path: '' }]
  }
}

const pathPart = (part: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof part === 'object' ? part.key : part)
