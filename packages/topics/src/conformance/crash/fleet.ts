import { statSync } from 'node:fs'
import type { ConformanceStore } from '../conformance-store.ts'
import type { Script } from '../script.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { spawn } from '../spawn.ts'
import { until } from '../until.ts'

export type Post = {
  readonly script: string
  readonly arguments: { readonly journal: string } & Record<string, unknown>
}

/** Processes that are killed and restarted, each with its role. */
export class Fleet implements AsyncDisposable {
  readonly #store: ConformanceStore
  readonly #random: SeededRandom
  readonly #running = new Map<Post, Script>()
  kills = 0
  freezes = 0

  constructor(store: ConformanceStore, random: SeededRandom, posts: readonly Post[]) {
    this.#store = store
    this.#random = random
    for (const post of posts) this.#start(post)
  }

  /** Kills one to three of them, each after a random amount of further work, and restarts them. */
  async strike(): Promise<void> {
    const count = 1 + this.#random.below(3)
    const posts = [...this.#running.keys()]
    const victims = new Set(Array.from({ length: count }, () => this.#random.pick(posts)))
    await Promise.all([...victims].map(post => this.#killLater(post, this.#random.below(10_000))))
  }

  /**
   * Stops a process of `script` for longer than its leases last, so that it continues with deliveries that others took
   * over.
   */
  async freeze(script: string, ms: number): Promise<void> {
    const [, victim] = this.#random.pick([...this.#running].filter(([post]) => post.script === script))
    victim.kill('SIGSTOP')
    const end = performance.now() + ms
    await until(() => performance.now() >= end, { what: 'the leases to run out' })
    victim.kill('SIGCONT')
    this.freezes++
  }

  /** Asks the processes of `script` to stop, and waits until they have. */
  async stop(script: string): Promise<void> {
    const all = [...this.#running].filter(([post]) => post.script === script)
    for (const [, process] of all) process.send({ stop: true })
    for (const [post, process] of all) {
      const { code, signal } = await process.exited
      this.#running.delete(post)
      if (code !== 0) throw failed(process, `${code ?? signal}`)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map(process => process[Symbol.asyncDispose]()))
  }

  #start(post: Post): void {
    // Each restart makes other choices, and all of them follow from the seed that a failure prints.
    const env = { TIDEMARK_TEST_SEED: String(this.#random.below(0x7fff_ffff)) }
    this.#running.set(post, spawn(this.#store, post.script, [JSON.stringify(post.arguments)], { env }))
  }

  async #killLater(post: Post, bytes: number): Promise<void> {
    const process = this.#running.get(post)
    if (process === undefined) return
    const { journal } = post.arguments
    const target = sizeOf(journal) + bytes
    let ended = false
    process.exited.then(() => {
      ended = true
    })
    await until(() => ended || sizeOf(journal) >= target, {
      what: `${post.script} to write ${bytes} bytes`,
      timeout: 60_000,
    })
    process.kill('SIGKILL')
    const { code, signal } = await process.exited
    if (signal !== 'SIGKILL') throw failed(process, `${code ?? signal}`)
    this.kills++
    this.#start(post)
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

const failed = ({ errorLines }: Script, how: string): Error =>
  new Error([`A process of the fleet ended by itself with ${how}:`, ...errorLines].join('\n'))
