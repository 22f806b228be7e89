import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: attempts that fail in a chosen order can’t be had of a real disk.
import { attempt, retryPolicy } from '../../src/services/persistence/attempts.ts'

const failing = (): Promise<never> => Promise.reject(new Error('It never works'))

/** A service's context of which only the failures are of interest. */
const contextOf = (signal: AbortSignal, report: (operation: string, error: unknown) => void) => ({
  signal,
  report,
  succeeded: () => {},
  waiting: () => ({ [Symbol.dispose]: () => {} }),
  watch: <T>(_: string, work: () => Promise<T>) => work(),
  operation: 'store',
  about: 'a batch',
})

/** When each attempt was made, in milliseconds since the first. */
async function timesOf(options: Parameters<typeof retryPolicy>[1], signal = new AbortController().signal) {
  const times: number[] = []
  const started = performance.now()
  const context = contextOf(signal, () => times.push(performance.now() - started))
  const outcome = await attempt(failing, retryPolicy('retry', options), context)
  assert.ok('failure' in outcome)
  return { times, failure: outcome.failure }
}

describe('attempts', () => {
  it('wait twice as long each time, up to the maximum', async () => {
    const { times, failure } = await timesOf({ maxRetries: 5, initialBackoff: '20ms', maxBackoff: '100ms' })
    assert.equal(failure.retries, 5)
    const waits = times.slice(1).map((time, slot) => time - (times[slot] ?? 0))
    // A timer may be a millisecond early by this clock, and late by anything.
    for (const [slot, least] of [20, 40, 80, 100, 100].entries()) {
      assert.ok((waits[slot] ?? 0) > least - 2, `wait ${slot + 1} of ${waits[slot]} ms is shorter than ${least}`)
    }
  })

  it('end with the last error, the number of retries and the first failure', async () => {
    const before = Date.now()
    const { failure } = await timesOf({ maxRetries: 2, initialBackoff: '5ms' })
    assert.equal(failure.error.message, 'It never works')
    assert.equal(failure.retries, 2)
    assert.ok(before <= failure.firstAt && failure.firstAt < failure.lastAt && failure.lastAt <= Date.now())
  })

  it('do not count while their environment is unavailable', async () => {
    let tries = 0
    const context = contextOf(new AbortController().signal, () => {})
    const work = async (): Promise<number> => {
      if (++tries <= 3) throw Object.assign(new Error('No room'), { code: 'ENOSPC', syscall: 'write' })
      return tries
    }
    assert.deepEqual(await attempt(work, retryPolicy('retry', { maxRetries: 0 }), context), { value: 4 })
  })

  it('are one after an abort, and one more if it aborts while waiting', async () => {
    assert.equal((await timesOf({ initialBackoff: '1h' }, AbortSignal.abort())).times.length, 1)
    assert.equal((await timesOf({ initialBackoff: '1h', maxBackoff: '1h' }, AbortSignal.timeout(20))).times.length, 2)
  })
})
