import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startServer } from '@tidemark/server'
import { Ajv } from 'ajv'
import { open } from 'tidemark'
import { freshDatabase, temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { SILENT } from './servers.ts'
import { Listener, type Received } from './streams.ts'
import { metadataOf, startWorld, ticksOf } from './worlds.ts'

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
const ajv = new Ajv({ strict: false, validateFormats: false })
ajv.addSchema({ $id: 'document', ...document })
const isEvent = ajv.compile({ $ref: 'document#/components/schemas/ServerEvent' })

function requireDescribed({ events }: Listener): void {
  for (const event of events) assert.ok(isEvent(event), `${JSON.stringify(event)}: ${JSON.stringify(isEvent.errors)}`)
}

/** All that the activities have told of a topic. */
const total = ({ events }: Listener, topic: string, name: string): number =>
  events
    .filter(({ event }) => event === 'activity')
    .reduce((sum, { data }) => sum + (data.topics[topic]?.[name] ?? 0), 0)

const change =
  (kind: string, name: string) =>
  ({ event, data }: Received) =>
    event === 'change' && data.kind === kind && (data.group ?? data.topic) === name

const ENGINES = [
  {
    name: 'SQLite',
    fresh: async () => {
      const folder = temporaryFolder()
      return { url: `sqlite:${join(folder.path, 'app.db')}`, drop: async () => folder[Symbol.dispose]() }
    },
  },
  { name: 'PostgreSQL', fresh: freshDatabase },
]

for (const engine of ENGINES) {
  describe(`the stream of events, on ${engine.name}`, () => {
    it('reports what other processes do, and counts what its own does once', async () => {
      const { url, drop } = await engine.fresh()
      const options = { logger: SILENT, maintenance: false } as const
      const [own, other] = [await open(url, options), await open(url, options)]
      const server = await startServer({ port: 0, topics: own, logger: SILENT })
      try {
        await own.configureTopic('work')
        await using events = await Listener.open(server.url, '/api/v1/events')
        // What was there at the first look is nobody's news, and that look may come late: a topic each time, until one is.
        let made = 0
        const isHeard = async () => {
          await other.configureTopic(`first-${++made}`)
          return events.events.some(({ data }) => data.kind === 'topic-appeared')
        }
        await until(isHeard, { what: 'the first change' })
        await other.configureTopic('news', { semantics: 'pub-sub' })
        await other.pull('news', 'email')
        await events.next(change('group-appeared', 'email'), 'the new group')
        await other.publishBatch('work', [1, 2, 3, 4])
        await own.publishBatch('work', [5, 6])
        const { receipt } = await other.pull('work', undefined, { max: 3 })
        await other.settle(receipt ?? '', { acks: 'all' })
        await until(() => total(events, 'work', 'published') >= 6 && total(events, 'work', 'acked') >= 3, {
          what: 'the activity of both',
        })
        await other.admin.pauseGroup('news', 'email')
        const paused = await events.next(change('group-status', 'email'), 'the pause')
        assert.deepEqual([paused.data.status, paused.data.before], ['PAUSED', 'ACTIVE'])
        await other.admin.deleteTopic('news')
        await events.next(change('topic-gone', 'news'), 'the end of the topic')
        assert.deepEqual(
          ['published', 'received', 'acked'].map(name => total(events, 'work', name)),
          [6, 3, 3],
        )
        requireDescribed(events)
      } finally {
        await server.close()
        await Promise.all([own.close(), other.close()])
        await drop()
      }
    })
  })
}

describe('the stream of events of a pipeline', () => {
  it('reports the activity of its topics, as described', async () => {
    await using world = await startWorld()
    await using events = await Listener.open(world.url, '/api/v1/events')
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 3))
    await world.indexed(3)
    await world.post('/api/v1/pipeline/services/reconciler/restart')
    await until(
      () => events.events.some(({ event, data }) => event === 'activity' && Object.keys(data.topics).length > 0),
      { what: 'the activity' },
    )
    await events.next(({ event }) => event === 'run', 'the run')
    await events.next(({ event }) => event === 'service', 'the service')
    requireDescribed(events)
  })
})

describe('a hundred watchers', () => {
  it('cost the database no more than one, and nothing when they are gone', async () => {
    using folder = temporaryFolder()
    const tm = await open(`sqlite:${join(folder.path, 'app.db')}`, { logger: SILENT, maintenance: false })
    await tm.configureTopic('work')
    let looks = 0
    const { admin } = tm
    const stats = admin.stats.bind(admin)
    admin.stats = async options => {
      looks++
      return await stats(options)
    }
    const server = await startServer({ port: 0, topics: tm, logger: SILENT })
    try {
      const watchers = await Promise.all(Array.from({ length: 100 }, () => Listener.open(server.url, '/api/v1/events')))
      const before = looks
      await tm.publish('work', 1)
      await Promise.all(watchers.map(each => each.next(({ event }) => event === 'activity', 'the activity')))
      assert.ok(looks - before <= 5, `${looks - before} looks`)
      await Promise.all(watchers.map(each => each[Symbol.asyncDispose]()))
      await until(
        async () => /tidemark_http_open\{kind="streams"\} 0/.test(await (await fetch(`${server.url}/metrics`)).text()),
        {
          what: 'the watchers to be gone',
        },
      )
      const after = looks
      // A new watcher begins at once, and so nothing has looked in between but the scrapes above.
      await using late = await Listener.open(server.url, '/api/v1/events')
      await until(() => looks > after, { what: 'a look for the new one' })
      assert.equal(late.isEnded, false)
    } finally {
      await server.close()
      await tm.close()
    }
  })
})
