import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below 32768 the system gives no port to outgoing connections (macOS: below 49152), so that a server which stops for
 * a moment finds its port free again. Above, a client that retries while the server is down may take the server's port
 * for its own end, and even connect to itself.
 */
const LOWEST_PORT = 20_000
const HIGHEST_PORT = 32_767

/** A port of 127.0.0.1 that is free now, and that nobody else is likely to take before or between your uses. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT + 1)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false // taken
  }
  server.close()
  await once(server, 'close')
  return true
}
