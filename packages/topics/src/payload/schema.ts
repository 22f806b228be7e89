import { isThenable, reasonOf } from '../errors/failure.ts'
import { ConfigError, SchemaError } from '../errors.ts'
import { checkName } from '../options/names.ts'
import { Options } from '../options/options.ts'

/**
 * The Standard Schema interface, which Zod, Valibot and ArkType implement. `Input` is what may be published, and
 * `Output` is what the schema makes of it for handlers and readers.
 */
export type Schema<Input = unknown, Output = Input> = {
  /** The validator, as defined by Standard Schema. */
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** Type of the values that a schema accepts. */
export type SchemaInput<S> = S extends Schema<infer Input, unknown> ? Input : never

/** Type of the values that a schema returns. */
export type SchemaOutput<S> = S extends Schema<unknown, infer Output> ? Output : never

/** Schemas by the name of their topic. */
export type TopicSchemas = { readonly [topic: string]: Schema }

/** Result of a validation, as defined by Standard Schema. */
export type SchemaResult<Output = unknown> =
  | {
      /** The value that the schema returns. */
      readonly value: Output
      /** Not set: the value is valid. */
      readonly issues?: undefined
    }
  | {
      /** Problems of an invalid value. */
      readonly issues: readonly SchemaIssue[]
    }

/** A problem that a schema found, as defined by Standard Schema. */
export type SchemaIssue = {
  /** Description of the problem. */
  readonly message: string
  /** Where it is in the payload. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

const ALLOWED = 'a Standard Schema (Zod, Valibot, ArkType, …)'

/** The option `schema` of a group, reader, topic or pull. */
export const readSchema = <T>(options: Options): Schema<unknown, T> | undefined =>
  options.object<Schema<unknown, T>>('schema', isSchema, ALLOWED)

/** The option `schemas` of `open`. */
export function readSchemas(options: Options): ReadonlyMap<string, Schema> {
  const given = options.object<TopicSchemas>('schemas', isRecord, `an object of schemas by topic: ${ALLOWED}`)
  const each = new Options('open.schemas', given)
  return new Map(
    Object.keys(given ?? {}).map(topic => {
      const schema = each.object<Schema>(checkName('topic', topic), isSchema, ALLOWED)
      if (schema === undefined) throw new ConfigError(`open.schemas.${topic}`, schema, ALLOWED)
      return [topic, schema]
    }),
  )
}

const isRecord = (value: object): boolean => typeof value !== 'function' && !Array.isArray(value) && !isSchema(value)

const isSchema = (value: object): boolean => '~standard' in value

/** The schema's output, or a SchemaError that lists what is wrong. Synchronous if the schema is. */
export function validate<T>(schema: Schema<unknown, T>, topic: string, value: unknown): T | Promise<T> {
  const result = schema['~standard'].validate(value)
  // A promise of another library or realm is one too.
  return isThenable(result) ? Promise.resolve(result).then(each => unwrap(each, topic)) : unwrap(result, topic)
}

function unwrap<T>(result: SchemaResult<T>, topic: string): T {
  if (result.issues === undefined) return result.value
  throw new SchemaError(topic, issuesOf(result.issues))
}

/** Validators are foreign code: an unreadable issue is reported as such. */
function issuesOf(issues: readonly SchemaIssue[]): { message: string; path: string }[] {
  try {
    return issues.map(({ message, path }) => ({ message: String(message), path: (path ?? []).map(pathPart).join('.') }))
  } catch (error) {
    return [{ message: `the schema's issues can't be read (${reasonOf(error)})`, path: '' }]
  }
}

const pathPart = (part: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof part === 'object' ? part.key : part)
