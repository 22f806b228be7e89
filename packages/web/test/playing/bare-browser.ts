import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { BROWSER_FLAGS, browserPath } from '../browser/browser-path.ts'

type Folder = ReturnType<typeof temporaryFolder>
type Sent = { readonly id: number; readonly result?: unknown; readonly error?: { readonly message: string } }

/**
 * Chromium without Playwright: that one watches the network, for which the page's process keeps the last 200 MB of all
 * answers. Its memory is measured here, so nothing may watch.
 */
export class BareBrowser implements AsyncDisposable {
  readonly #process: ChildProcess
  readonly #folder: Folder
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (sent: Sent) => void>()
  #last = 0
  #session = ''

  static async open(url: string): Promise<BareBrowser> {
    if (browserPath === undefined)
      throw new Error('There is no chromium on the PATH. Install one, such as with apt-get')
    const folder = temporaryFolder()
    const child = spawn(
      browserPath,
      [
        ...BROWSER_FLAGS,
        '--headless=new',
        '--no-sandbox',
        '--window-size=1280,900',
        `--user-data-dir=${folder.path}`,
        '--remote-debugging-port=0',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let text = ''
    for await (const part of child.stderr) {
      text += part
      const found = /ws:\/\/\S+/.exec(text)
      if (found === null) continue
      const socket = new WebSocket(found[0])
      await once(socket as never, 'open')
      const browser = new BareBrowser(child, folder, socket)
      await browser.#attach(url)
      return browser
    }
    throw new Error(`chromium ended: ${text}`)
  }

  private constructor(child: ChildProcess, folder: Folder, socket: WebSocket) {
    this.#process = child
    this.#folder = folder
    this.#socket = socket
    child.stderr?.resume()
    socket.onmessage = ({ data }) => {
      const sent = JSON.parse(String(data)) as Sent
      this.#waiting.get(sent.id)?.(sent)
    }
  }

  /** What an expression is in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result } = await this.#send<{ result: { value: T } }>('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })
    return result.value
  }

  async press(key: string, code: string, text = ''): Promise<void> {
    await this.#send('Input.dispatchKeyEvent', { type: 'keyDown', key, code, text })
    await this.#send('Input.dispatchKeyEvent', { type: 'keyUp', key, code })
  }

  /** Memory of the page's process alone, as the system counts it: script, its buffers, workers and canvases. */
  async memory(): Promise<number> {
    const { processInfo } = await this.#send<{ processInfo: { type: string; id: number }[] }>(
      'SystemInfo.getProcessInfo',
      {},
      false,
    )
    return Math.max(...processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => ownBytesOf(id)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close()
    this.#process.kill()
    await once(this.#process, 'exit')
    this.#folder[Symbol.dispose]()
  }

  async #attach(url: string): Promise<void> {
    const { targetId } = await this.#send<{ targetId: string }>('Target.createTarget', { url }, false)
    const { sessionId } = await this.#send<{ sessionId: string }>(
      'Target.attachToTarget',
      { targetId, flatten: true },
      false,
    )
    this.#session = sessionId
  }

  async #send<T>(method: string, params: object, isOfPage = true): Promise<T> {
    const id = ++this.#last
    const { promise, resolve } = Promise.withResolvers<Sent>()
    this.#waiting.set(id, resolve)
    this.#socket.send(JSON.stringify({ id, method, params, ...(isOfPage && { sessionId: this.#session }) }))
    const { result, error } = await promise
    this.#waiting.delete(id)
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result as T
  }
}

const ownBytesOf = (pid: number): number =>
  Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
