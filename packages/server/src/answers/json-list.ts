import { Turns } from '@tidemark/pipeline'
import type { FastifyReply } from 'fastify'
import { JSON_TYPE } from '../route.ts'

export type ListAnswer<T> = {
  /** The name of the list in the answer. */
  readonly name: string
  readonly items: readonly T[]
  /** An item as JSON text. */
  readonly toText: (item: T) => string
  /** The cursor of the page after this item. */
  readonly cursorOf: (item: T) => number | string
  /** The cursor of the page after the last item; null: there is none. */
  readonly next: number | string | null
  /** Other fields of the answer. */
  readonly more?: { readonly [name: string]: unknown }
}

/**
 * A page of a list as JSON, encoded item by item, so that others are answered meanwhile. It ends early, with its
 * `next`, if the answer would exceed `maxBytes`; the first item is always included.
 */
export async function sendList<T>(
  reply: FastifyReply,
  { name, items, toText, cursorOf, next, more = {} }: ListAnswer<T>,
  maxBytes: number,
): Promise<FastifyReply> {
  const turns = new Turns()
  const texts: string[] = []
  let bytes = 0
  let end = next
  let last: T | undefined
  for (const item of items) {
    await turns.pass()
    const text = toText(item)
    bytes += Buffer.byteLength(text) + 1
    if (last !== undefined && bytes > maxBytes) {
      end = cursorOf(last)
      break
    }
    texts.push(text)
    last = item
  }
  const rest = JSON.stringify({ ...more, next: end }).slice(1)
  return sendJson(reply, Buffer.from(`{${JSON.stringify(name)}:[${texts.join(',')}],${rest}`))
}

export const sendJson = (reply: FastifyReply, bytes: Buffer): FastifyReply =>
  reply.header('content-type', `${JSON_TYPE}; charset=utf-8`).send(bytes)
