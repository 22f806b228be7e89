/**
 * Transactions of somebody else on the tests' server that stay open for a while and overlap, so that there is nearly always
 * one. They hold watermarks and clean-up back: a test that counts on those fails beside others, but rarely alone.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'

const OPEN_MS = 1_500

export function disturb(url: string): AsyncDisposable {
  const ending = new AbortController()
  const transactions = [0, OPEN_MS / 2].map(startMs => openAndCommit(url, startMs, ending.signal))
  return {
    async [Symbol.asyncDispose]() {
      ending.abort()
      await Promise.all(transactions)
    },
  }
}

async function openAndCommit(url: string, startMs: number, signal: AbortSignal): Promise<void> {
  const pause = (ms: number): Promise<unknown> => delay(ms, undefined, { signal }).catch(() => undefined)
  await pause(startMs)
  const client = new Client({ connectionString: url })
  await client.connect()
  while (!signal.aborted) {
    await client.query('begin')
    await client.query('select pg_current_xact_id()')
    await pause(OPEN_MS)
    await client.query('commit')
  }
  await client.end()
}
