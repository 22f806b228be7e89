import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createApp } from './app.ts'
import { Context } from './context.ts'
import { AddressInUseError } from './errors.ts'
import { checkServerOptions, type ServerOptions, type Settings } from './options.ts'
import { isLoopback } from './security/addresses.ts'
import { markOf, watchTls } from './security/tls.ts'

const LAST_ANSWERS_MS = 5_000

/** A running server. */
export type RunningServer = AsyncDisposable & {
  /** URL of the server, such as http://127.0.0.1:4680. */
  readonly url: string
  /** Ends streams and waiting requests, answers the others, and closes the server. Can be called again. */
  close(): Promise<void>
}

/**
 * Serves topics, a pipeline and indexed runs over HTTP. Close the given parts yourself, after the server.
 *
 * @example
 * await using tm = await open('sqlite:./data/app.db')
 * await using server = await startServer({ topics: tm })
 * console.log(server.url)
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const settings = checkServerOptions(options)
  const context = new Context(settings)
  const tlsMark = settings.tls && (await markOf(settings.tls))
  const app = await createApp(context)
  app.addHook('preClose', () => context.close())
  const { host, port, logger } = settings
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    await context.finish()
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw new AddressInUseError(host, port, error)
    throw error
  }
  const url = urlOf(app.server.address() as AddressInfo, settings.tls === undefined ? 'http' : 'https')
  const unwatch = settings.tls && watchTls(app.server as unknown as Server, settings.tls, tlsMark ?? '', logger)
  warnOfClearText(settings)
  logger.info({ url }, 'server started')
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    closing ??= closeApp(app, context).then(() => logger.info({ url }, 'server stopped'))
    unwatch?.()
    await closing
  }
  return { url, close, [Symbol.asyncDispose]: close }
}

/** Anybody on the network path could read the tokens and the data. */
function warnOfClearText({ host, tls, logger }: Settings): void {
  if (tls !== undefined || isLoopback(host)) return
  logger.warn(
    { host },
    'tokens and data travel in the clear: give tls: { cert, key }, or listen on 127.0.0.1 behind a proxy that has TLS',
  )
}

/** Requests in progress are answered, but a client that does not read is not waited for long. */
async function closeApp(app: FastifyInstance, context: Context): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS)
  await app.close()
  clearTimeout(timer)
  await context.finish()
}

/** A usable address: for a wildcard address the loopback address is shown. */
function urlOf({ address, port, family }: AddressInfo, scheme: string): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return family === 'IPv6' ? `${scheme}://[${host}]:${port}` : `${scheme}://${host}:${port}`
}
