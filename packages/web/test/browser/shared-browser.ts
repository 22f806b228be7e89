import { unwatchProcess, watchProcess } from '../../../../testing/watchdog.ts'
import { BROWSER_FLAGS, browserPath, SHARED_BROWSER } from './browser-path.ts'

/** One browser for all test files of a run: to start one takes more than a second of processor time. */
export async function shareBrowser(): Promise<AsyncDisposable> {
  if (browserPath === undefined || process.env[SHARED_BROWSER] !== undefined)
    return { async [Symbol.asyncDispose]() {} }
  const { chromium } = await import('playwright-core')
  const server = await chromium.launchServer({ executablePath: browserPath, args: [...BROWSER_FLAGS] })
  const { pid } = server.process()
  if (pid) watchProcess(pid, 'SIGKILL')
  process.env[SHARED_BROWSER] = server.wsEndpoint()
  return {
    async [Symbol.asyncDispose]() {
      await server.close()
      if (pid) unwatchProcess(pid)
    },
  }
}
