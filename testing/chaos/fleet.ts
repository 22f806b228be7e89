/** The processes of a run: each is restarted when it ends, whoever ended it, until it is asked to stop. */
import { createFolder } from '../folders.ts'
import { type Script, spawnScript } from '../processes.ts'
import { until } from '../until.ts'
import type { Journal } from './journal.ts'
import { DOOMED, type Engine, type Order, type WorkerArguments } from './world.ts'

export type Post = { readonly name: string; readonly script: string; readonly namespace: string }

export const POSTS: readonly Post[] = [
  { name: 'publisher-1', script: 'publisher', namespace: 'default' },
  { name: 'publisher-2', script: 'publisher', namespace: 'default' },
  { name: 'groups-1', script: 'shared-groups', namespace: 'default' },
  { name: 'groups-2', script: 'shared-groups', namespace: 'default' },
  { name: 'mortal', script: 'mortal-group', namespace: 'default' },
  { name: 'readers', script: 'readers', namespace: 'default' },
  { name: 'puller', script: 'puller', namespace: 'default' },
  { name: 'operator', script: 'operator', namespace: 'default' },
]

export const DOOMED_POSTS: readonly Post[] = [
  { name: 'doomed-publisher', script: 'publisher', namespace: DOOMED },
  { name: 'doomed-group', script: 'mayfly-group', namespace: DOOMED },
]

/** Many times what it takes, because the machine may have other work. */
const START_MS = 600_000
const STOP_MS = 600_000
const LINES = 12
/** A process that ends by itself is restarted, but not in a loop. */
const AFTER_ERROR_MS = 500

type Running = { readonly post: Post; readonly script: Script; isExpected: boolean }

export class Fleet implements AsyncDisposable {
  readonly #where: Pick<WorkerArguments, 'url' | 'journals'> & { readonly engine: Engine }
  readonly #journal: Journal
  readonly #seed: () => number
  readonly #running = new Map<string, Running>()
  readonly #names = new Set<string>()
  /** Names of the processes that do not run now and are not to be restarted. */
  readonly #off = new Set<string>()
  #isClosing = false
  kills = 0

  constructor(where: Pick<WorkerArguments, 'url' | 'journals' | 'engine'>, journal: Journal, seed: () => number) {
    this.#where = where
    this.#journal = journal
    this.#seed = seed
  }

  start(posts: readonly Post[]): void {
    for (const post of posts) this.#start(post)
  }

  /** All have the database open, and groups have started. */
  async ready(): Promise<void> {
    const isReady = ({ script }: Running): boolean => script.messages.length > 0
    await until(() => [...this.#running.values()].every(isReady), {
      what: 'the processes to start',
      timeout: START_MS,
    })
  }

  /** Of all that were ever started; some may be down for a moment. */
  get names(): string[] {
    return [...this.#names]
  }

  tell(name: string, order: Order): void {
    this.#running.get(name)?.script.send(order)
  }

  /** Without notice; it starts again at once. */
  async kill(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    running.isExpected = true
    this.kills++
    running.script.kill('SIGKILL')
    await running.script.exited
  }

  /** Asks it for an orderly end; it starts again at once. */
  async renew(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    running.isExpected = true
    this.tell(name, { order: 'stop' })
    const timer = setTimeout(() => running.script.kill('SIGKILL'), STOP_MS)
    await running.script.exited
    clearTimeout(timer)
  }

  signal(name: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#running.get(name)?.script.kill(signal)
  }

  /**
   * Kills all at once and runs `meanwhile` before they start again: nobody has the database open. They may end in any way
   * from `before` on.
   */
  async allDown(meanwhile: () => Promise<void>, before = async (): Promise<void> => {}): Promise<void> {
    const all = [...this.#running.values()]
    const posts = all.map(({ post }) => post)
    for (const { name } of posts) this.#off.add(name)
    for (const running of all) running.isExpected = true
    await before()
    await Promise.all(posts.map(({ name }) => this.kill(name)))
    try {
      await meanwhile()
    } finally {
      for (const post of posts) {
        this.#off.delete(post.name)
        if (!this.#isClosing) this.#start(post)
      }
    }
  }

  /** Asks for an orderly end, and returns the names of those that did not come to one. */
  async stop(names: readonly string[]): Promise<string[]> {
    const late: string[] = []
    await Promise.all(
      names.map(async name => {
        this.#off.add(name)
        const running = this.#running.get(name)
        if (running === undefined) return
        this.tell(name, { order: 'stop' })
        const timer = setTimeout(() => {
          late.push(name)
          void this.kill(name)
        }, STOP_MS)
        await running.script.exited
        clearTimeout(timer)
      }),
    )
    return late
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    await Promise.all(this.names.map(name => this.kill(name)))
  }

  #start(post: Post): void {
    const { name, script, namespace } = post
    this.#names.add(name)
    // A process that is stopped for long must not hold a job meanwhile.
    const maintains = name !== 'mortal'
    const args: WorkerArguments = { ...this.#where, name, namespace, maintains, seed: this.#seed() }
    const running: Running = {
      post,
      script: spawnScript(new URL(`workers/${script}.ts`, import.meta.url), [JSON.stringify(args)], {
        nodeFlags: ['--max-semi-space-size=2'],
        // Starting takes a third of the time, and a run starts many.
        env: { NODE_COMPILE_CACHE: compileCache() },
      }),
      isExpected: false,
    }
    this.#running.set(name, running)
    void running.script.exited.then(({ code, signal }) =>
      this.#ended(running, code === 0 ? undefined : (signal ?? `code ${code}`)),
    )
  }

  #ended(running: Running, how: string | undefined): void {
    const { post, script, isExpected } = running
    if (this.#running.get(post.name) === running) this.#running.delete(post.name)
    if (how !== undefined && !isExpected) {
      const why = [`ended with ${how}`, ...script.errorLines.slice(-LINES)].join('\n')
      this.#journal.write({ what: 'ended', name: post.name, why })
    }
    const restart = (): void => {
      if (!this.#isClosing && !this.#off.has(post.name)) this.#start(post)
    }
    if (isExpected) restart()
    else setTimeout(restart, AFTER_ERROR_MS).unref()
  }
}

let cache: string | undefined

/** For all runs of this process; the watchdog removes it at the end. */
function compileCache(): string {
  cache ??= createFolder('tidemark-chaos-cache')
  return cache
}
