import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A line to a database server that the test can take away: connections are reset, and new ones refused. */
export class Line implements AsyncDisposable {
  readonly url: string
  readonly #target: URL
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  #server = createServer()

  static async to(url: string): Promise<Line> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    server.close()
    await once(server, 'close')
    const line = new Line(new URL(url), port)
    await line.giveBack()
    return line
  }

  private constructor(target: URL, port: number) {
    this.#target = target
    this.#port = port
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = String(port)
    this.url = url.href
  }

  async takeAway(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.#sockets.clear()
  }

  async giveBack(): Promise<void> {
    this.#server = createServer(client => this.#join(client))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.takeAway()
  }

  #join(client: Socket): void {
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port) })
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }
}
