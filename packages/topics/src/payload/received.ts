/**
 * The type in which a consumer receives a payload that was published as `T` without a schema: what JSON makes of it. A
 * `Date` arrives as a string, and methods are left out. Bytes and protobuf messages arrive as they were published.
 *
 * @example
 * type Sent = { orderId: number; at: Date }
 * type Arrived = Received<Sent> // { orderId: number; at: string }
 */
export type Received<T> =
  IsAny<T> extends true
    ? unknown
    : T extends JsonValue | Uint8Array | { readonly $typeName: string }
      ? T
      : // The type itself where JSON changes nothing, so that editors show its name.
        [T, Json<T>] extends [Json<T>, T]
        ? T
        : Json<T>

type IsAny<T> = 0 extends 1 & T ? true : false

type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue | undefined }

/** What JSON.stringify leaves out of an object. */
type Omitted = symbol | ((...args: never) => unknown)

type Json<T> = T extends JsonValue | undefined
  ? T
  : unknown extends T
    ? T
    : T extends { toJSON(): infer Written }
      ? Json<Written>
      : T extends bigint | Omitted
        ? never
        : T extends readonly unknown[]
          ? { [Index in keyof T]: JsonItem<T[Index]> }
          : { [Key in keyof T as JsonKey<Key, T[Key]>]: Json<T[Key]> }

/** In an array, JSON.stringify writes null for what it can't write. */
type JsonItem<T> = T extends undefined | Omitted ? null : Json<T>

type JsonKey<Key, Value> = Key extends symbol ? never : [Value] extends [Omitted] ? never : Key
