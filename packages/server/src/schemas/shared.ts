import { type TSchema, Type } from 'typebox'

const all = new Map<string, TSchema>()

/** A schema of answers that several routes share: described once, under its name, and referenced. */
export function share(name: string, schema: TSchema): TSchema {
  all.set(name, { ...schema, $id: name })
  return Type.Unsafe<unknown>({ $ref: `${name}#` })
}

/** By name, so that the description does not depend on the order in which files are loaded. */
export const sharedSchemas = (): readonly TSchema[] =>
  [...all].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, schema]) => schema)
