import { once } from 'node:events'
import { connect as connectTo, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A client's way to the server. */
type Way = {
  readonly client: Socket
  readonly server: Socket
  /** Nothing gets through to the client, and neither end is told. */
  isDeaf: boolean
  /** Nothing gets through, and neither end is told. */
  isSilent: boolean
  /** Its next answer is lost, and the connection with it. */
  losesAnswer: boolean
  /** It has sent what `lostAnswers.after` waits for. */
  isChosen: boolean
}

/** A network between clients and the server that the test can silence or cut: real sockets, of which nothing gets through. */
export class Network implements AsyncDisposable {
  readonly url: string
  readonly #server: ReturnType<typeof createServer>
  readonly #ways = new Set<Way>()
  #cut = false
  /** What happens to every new connection after this many answers of the server. */
  fate: { readonly answers: number; readonly is: 'reset' | 'silence' } | undefined
  /** Connections that met it. */
  fates = 0
  /** Hears what clients send. */
  onSent: ((text: string) => void) | undefined
  /** As many connections were open at once. */
  most = 0
  /** So many milliseconds pass before anything arrives, in either direction. */
  delayMs = 0
  /**
   * The next `count` requests that match are carried out by the server, and their answers are lost with the connection.
   * With `after`, only on connections on which that was sent before.
   */
  lostAnswers: { readonly to: RegExp; readonly after?: RegExp; count: number } | undefined

  static async to(url: string): Promise<Network> {
    const target = new URL(url)
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const network = new Network(target, server)
    server.on('connection', client => network.#join(client, target))
    return network
  }

  private constructor(target: URL, server: ReturnType<typeof createServer>) {
    this.#server = server
    const address = server.address()
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = typeof address === 'object' && address !== null ? String(address.port) : ''
    this.url = url.href
  }

  /** From now on nothing arrives, and nobody is told. New connections are accepted, and never answered. */
  cut(): void {
    this.#cut = true
    for (const way of this.#ways) way.isSilent = true
  }

  /** What is sent arrives, and no answer comes back. */
  deafen(): void {
    for (const way of this.#ways) way.isDeaf = true
  }

  /** What was on its way is lost: the connections of before are reset, new ones get through. */
  heal(): void {
    this.#cut = false
    for (const way of this.#ways) reset(way)
  }

  /** New connections get through; those of before stay silent for ever, as behind a gateway that forgot them. */
  forget(): void {
    this.#cut = false
  }

  /** Whoever is connected is cut off, and hears of it. */
  reset(): void {
    for (const way of this.#ways) reset(way)
  }

  /** Connections that clients have open now. */
  get connections(): number {
    return [...this.#ways].filter(({ client }) => !client.destroyed).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    for (const way of this.#ways) reset(way)
  }

  #join(client: Socket, target: URL): void {
    const server = connectTo({ host: target.hostname, port: Number(target.port) })
    const way: Way = { client, server, isSilent: this.#cut, isDeaf: false, losesAnswer: false, isChosen: false }
    this.#ways.add(way)
    this.most = Math.max(this.most, this.connections)
    const { fate } = this
    client.on('data', data => this.#hear(way, data))
    let answers = 0
    server.on('data', () => {
      if (++answers !== fate?.answers) return
      this.fates++
      if (fate.is === 'reset') reset(way)
      else way.isSilent = true
    })
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      let onTheirWay = 0
      let last: Promise<unknown> = Promise.resolve()
      from.on('data', data => {
        if (way.losesAnswer && from === server) return reset(way)
        if (this.delayMs === 0 && onTheirWay === 0) return pass(way, from, to, data)
        // A connection keeps its order, also when the delay ends.
        onTheirWay++
        last = Promise.all([last, delay(this.delayMs)]).then(() => {
          onTheirWay--
          pass(way, from, to, data)
        })
      })
      from.on('error', () => from.destroy())
      from.on('close', () => {
        if (!way.isSilent) to.destroy()
        if (client.destroyed && server.destroyed) this.#ways.delete(way)
      })
    }
  }

  #hear(way: Way, data: Buffer): void {
    const lost = this.lostAnswers
    if (this.onSent === undefined && lost === undefined) return
    const text = data.toString('latin1')
    this.onSent?.(text)
    if (lost?.after?.test(text)) way.isChosen = true
    if (lost === undefined || lost.count === 0 || !lost.to.test(text)) return
    if (lost.after !== undefined && !way.isChosen) return
    lost.count--
    way.losesAnswer = true
  }
}

function pass(way: Way, from: Socket, to: Socket, data: Buffer): void {
  if (!way.isSilent && !(way.isDeaf && from === way.server) && !to.destroyed) to.write(data)
}

function reset({ client, server }: Way): void {
  for (const socket of [client, server]) if (!socket.destroyed) socket.resetAndDestroy()
}
