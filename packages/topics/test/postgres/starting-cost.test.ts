import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import pg from 'pg'
import { open as openTidemark } from '../../src/index.ts'
import { open, quiet, server, useServer } from './store-bench.ts'

useServer()

type Sent = { readonly client: pg.Client; readonly text: string }

/** What is sent, by whom, while `work` runs. */
async function watch(work: (sent: readonly Sent[]) => Promise<void>): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  const send = pg.Client.prototype.query as (...args: unknown[]) => unknown
  const spy = mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    const [given] = args as [string | { text: string }]
    sent.push({ client: this, text: typeof given === 'string' ? given : given.text })
    return send.apply(this, args)
  })
  try {
    await work(sent)
    return sent
  } finally {
    spy.mock.restore()
  }
}

const GROUPS = Array.from({ length: 16 }, (_, index) => `group-${index}`)

/** Starts the groups in a process that has just opened the namespace. Gives the statements that were sent for it. */
async function startAll(namespace: string): Promise<string[]> {
  let opened = 0
  const all = await watch(async sent => {
    await using tidemark = await openTidemark(server.url, { namespace, logger: quiet, maintenance: false })
    opened = sent.length
    const groups = GROUPS.map(name => tidemark.consumerGroup('topic', name).addConsumer('c', () => {}))
    await Promise.all(groups.map(group => group.start()))
  })
  return all.slice(opened).map(({ text }) => text)
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

describe('a short program', () => {
  it('opens a namespace that is ready with two statements, and the proof that it can listen', async () => {
    await using bench = await open()
    const { namespace } = bench
    const sent = await watch(async () => {
      await using _ = await openTidemark(server.url, { namespace, logger: quiet, maintenance: false })
    })
    const asked = sent.map(({ text }) => text.trim()).filter(text => text.startsWith('select'))
    const kinds = ['to_regprocedure', 'function_bundle', 'pg_notify', 'pg_advisory_lock_shared']
    assert.deepEqual(
      asked.map(text => kinds.find(kind => text.includes(kind))),
      kinds,
    )
  })

  it('has one connection to work on and one that listens, also where it creates its topic and tells others', async () => {
    await using bench = await open()
    const { namespace } = bench
    const sent = await watch(async () => {
      await using tidemark = await openTidemark(server.url, { namespace, logger: quiet, maintenance: false })
      await tidemark.publish('new', 1)
      await tidemark.publish('new', 2)
    })
    assert.equal(new Set(sent.map(({ client }) => client)).size, 2)
  })

  it('sends the only heartbeat of a group, when it stops, on a connection that works', async () => {
    await using bench = await open()
    const { namespace } = bench
    const sent = await watch(async () => {
      await using tidemark = await openTidemark(server.url, { namespace, logger: quiet, maintenance: false })
      const acked = new Promise(resolve => tidemark.on('acked', resolve))
      const group = tidemark.consumerGroup('topic', 'g').addConsumer('c', () => {})
      await group.start()
      await tidemark.publish('topic', 1)
      await acked
    })
    const [beat] = sent.filter(({ text }) => text.includes('.heartbeat('))
    const others = sent.filter(
      ({ client, text }) => client === beat?.client && /claim|settle|subscribe|log_/.test(text),
    )
    assert.ok(others.length > 0)
  })
})
