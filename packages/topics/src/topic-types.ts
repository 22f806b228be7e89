import type { Received } from './payload/received.ts'
import type { Schema, SchemaInput, SchemaOutput } from './payload/schema.ts'

/** The topics of a Tidemark that was opened without types: any name, and payloads of type `unknown`. */
export type AnyTopics = { readonly [name: string]: unknown }

/** What is published to a topic, and what arrives. */
export type TopicType<Input = unknown, Output = unknown> = {
  /** Type that `publish` takes. */
  readonly input: Input
  /** Type that handlers and readers receive. */
  readonly output: Output
}

/** What is published to each topic, and what arrives. */
export type TypedTopics = { readonly [name: string]: TopicType }

/**
 * The types of each topic of a map. An entry is the type of a payload, or the type of a schema.
 *
 * @example
 * type Types = TopicTypes<{ orders: { orderId: number; at: Date } }>
 * const sent: Types['orders']['input'] = { orderId: 7, at: new Date() }
 * const arrived: Types['orders']['output'] = { orderId: 7, at: '2026-05-01T00:00:00.000Z' }
 */
export type TopicTypes<Topics> = {
  [Name in keyof Topics & string]: Topics[Name] extends Schema
    ? TopicType<SchemaInput<Topics[Name]>, SchemaOutput<Topics[Name]>>
    : TopicType<Topics[Name], Received<Topics[Name]>>
}

/** The entries of a map that are schemas. `open` has to be given these, so that payloads have the types it says. */
export type SchemasOf<Topics> = {
  readonly [Name in keyof Topics as Topics[Name] extends Schema ? Name : never]: Topics[Name] extends Schema
    ? Topics[Name]
    : never
}

/** A map without schemas. */
export type PlainTopics<Topics> = { readonly [Name in keyof Topics]: Topics[Name] extends Schema ? never : unknown }
