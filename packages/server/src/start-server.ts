import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createApp } from './app.ts'
import { Context } from './context.ts'
import { AddressInUseError } from './errors.ts'
import { checkServerOptions, type ServerOptions } from './options.ts'

const LAST_ANSWERS_MS = 5_000

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
    closing ??= closeApp(app).then(() => logger.info({ url }, 'server stopped'))
    await closing
  }
  return { url, close, [Symbol.asyncDispose]: close }
}

/** What is being answered is answered, but for somebody who does not read: that is not waited for long. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), LAST_ANSWERS_MS)
  await app.close()
  clearTimeout(timer)
}

/** An address that can be followed: one that stands for all of the machine's is reached by the loopback's. */
function urlOf({ address, port, family }: AddressInfo): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return family === 'IPv6' ? `http://[${host}]:${port}` : `http://${host}:${port}`
}
