import type { AddressInfo } from 'node:net'
import { createApp } from './app.ts'
import { Context } from './context.ts'
import { AddressInUseError } from './errors.ts'
import { checkServerOptions, type ServerOptions } from './options.ts'

export type RunningServer = AsyncDisposable & {
  /** http://127.0.0.1:4680 */
  readonly url: string
  /** Ends streams and waits, and lets what was asked before be answered. Again is fine. */
  close(): Promise<void>
}

/**
 * Serves topics, a pipeline and indexed runs over HTTP.
 *
 *     await using server = await startServer({ topics: await open('sqlite:./data/app.db') })
 *
 * What it is given is the caller's to close, after the server.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const settings = checkServerOptions(options)
  const context = new Context(settings)
  const app = await createApp(context)
  app.addHook('preClose', () => context.close())
  const { host, port, logger } = settings
  try {
    await app.listen({ host, port })
  } catch (error) {
    await app.close()
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw new AddressInUseError(host, port, error)
    throw error
  }
  const url = urlOf(app.server.address() as AddressInfo)
  logger.info({ url }, 'server started')
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    closing ??= app.close().then(() => logger.info({ url }, 'server stopped'))
    await closing
  }
  return { url, close, [Symbol.asyncDispose]: close }
}

/** An address that can be followed: one that stands for all of the machine's is reached by the loopback's. */
function urlOf({ address, port, family }: AddressInfo): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return family === 'IPv6' ? `http://[${host}]:${port}` : `http://${host}:${port}`
}
