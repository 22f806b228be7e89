import type { FastifyRequest } from 'fastify'

/** A signal that aborts when the client disconnects, or the server closes. */
export function untilGone(
  { raw }: FastifyRequest,
  closing: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const gone = new AbortController()
  const { socket } = raw
  const abort = (): void => gone.abort()
  // The request itself "closes" as soon as its body is read; only the socket tells.
  socket.once('close', abort)
  closing.addEventListener('abort', abort, { once: true })
  if (socket.destroyed || closing.aborted) abort()
  return {
    signal: gone.signal,
    [Symbol.dispose]: () => {
      socket.off('close', abort)
      closing.removeEventListener('abort', abort)
    },
  }
}
