import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { untilGone } from '../until-gone.ts'
import { EventStream } from './event-stream.ts'

/** Answers with server-sent events until `feed` ends or the reader disconnects. Counts against the limit of streams. */
export async function openStream(
  { streams, settings: { limits }, closing }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  feed: (stream: EventStream) => Promise<void>,
): Promise<void> {
  const leave = streams.take()
  using gone = untilGone(request, closing.signal)
  reply.hijack()
  const { raw } = reply
  const headers = {
    ...reply.getHeaders(),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // The end of the stream closes the connection, so that nobody has to wait for it when the server closes.
    connection: 'close',
  }
  raw.writeHead(200, headers as Record<string, string>)
  const stream = new EventStream(raw, gone.signal, limits)
  try {
    await feed(stream)
  } finally {
    leave()
    stream.end()
  }
}
