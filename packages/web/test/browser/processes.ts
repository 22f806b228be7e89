import { startTidemark, tidemark } from '../../../cli/test/command.ts'

/** `tidemark serve` in a process of its own, which can be killed and started again at the same address. */
export type ServerProcess = AsyncDisposable & {
  readonly url: string
  /** Ends it without a warning, as a crash does. */
  kill(): Promise<void>
  restart(): Promise<void>
}

export async function startServerProcess(database: string, args: readonly string[] = []): Promise<ServerProcess> {
  await tidemark(['migrate', '--database', database])
  let running = startTidemark(['serve', '--database', database, '--port', '0', ...args])
  const [url] = await running.waitFor(/http:\/\/[\w.:]+/)
  const { port } = new URL(url)
  const end = async (): Promise<void> => await running[Symbol.asyncDispose]()
  return {
    url,
    kill: end,
    async restart() {
      running = startTidemark(['serve', '--database', database, '--port', port, ...args])
      await running.waitFor(/http:\/\/[\w.:]+/)
    },
    [Symbol.asyncDispose]: end,
  }
}
