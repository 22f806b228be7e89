import { once } from 'node:events'
import { connect as connectTo, createServer, type Socket } from 'node:net'

/** A network between a client and the server that the test can cut: real sockets, of which nothing gets through. */
export class Network implements AsyncDisposable {
  readonly url: string
  readonly #server: ReturnType<typeof createServer>
  readonly #sockets: Set<Socket>
  #cut = false

  static async to(url: string): Promise<Network> {
    const target = new URL(url)
    const sockets = new Set<Socket>()
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const network = new Network(target, server, sockets)
    server.on('connection', client => network.#join(client, target))
    return network
  }

  private constructor(target: URL, server: ReturnType<typeof createServer>, sockets: Set<Socket>) {
    this.#server = server
    this.#sockets = sockets
    const address = server.address()
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = typeof address === 'object' && address !== null ? String(address.port) : ''
    this.url = url.href
  }

  /** From now on nothing arrives, and nobody is told. */
  cut(): void {
    this.#cut = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** What was on its way is lost: the connections of before are reset, new ones get through. */
  heal(): void {
    this.#cut = false
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.#sockets.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(client: Socket, target: URL): void {
    const server = connectTo({ host: target.hostname, port: Number(target.port) })
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', data => to.write(data))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
      if (this.#cut) from.pause()
    }
  }
}
