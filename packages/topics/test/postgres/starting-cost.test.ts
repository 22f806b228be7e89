import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import pg from 'pg'
import { open as openTidemark } from '../../src/index.ts'
import { open, quiet, server } from './store-bench.ts'

const GROUPS = Array.from({ length: 16 }, (_, index) => `group-${index}`)

/** Starts the groups in a process that has just opened the namespace. Gives the statements that were sent for it. */
async function startAll(namespace: string): Promise<string[]> {
  const texts: string[] = []
  const send = pg.Client.prototype.query as (...args: unknown[]) => unknown
  const spy = mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    const [given] = args as [string | { text: string }]
    texts.push(typeof given === 'string' ? given : given.text)
    return send.apply(this, args)
  })
  try {
    await using tidemark = await openTidemark(server.url, { namespace, logger: quiet, maintenance: false })
    const opened = texts.length
    const groups = GROUPS.map(name => tidemark.consumerGroup('topic', name).addConsumer('c', () => {}))
    await Promise.all(groups.map(group => group.start()))
    return texts.slice(opened)
  } finally {
    spy.mock.restore()
  }
}

/** By what they call; what sets up a connection, claims and listens is not asked for by a start. */
function count(texts: readonly string[]): Record<string, number> {
  const kinds = { topic: '.topic as t on t.name', subscribe: '.subscribe(', goOn: '.go_on(', begin: 'begin' }
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, part]) => [kind, texts.filter(text => text.includes(part)).length]),
  )
}

describe('starting many groups at once', () => {
  it('takes one statement per group, two if it exists, and one for their topic', async () => {
    await using bench = await open()
    const created = await startAll(bench.namespace)
    assert.deepEqual(count(created), { topic: 1, subscribe: GROUPS.length, goOn: 0, begin: 0 })
    const existing = await startAll(bench.namespace)
    assert.deepEqual(count(existing), { topic: 1, subscribe: GROUPS.length, goOn: GROUPS.length, begin: 0 })
  })
})
