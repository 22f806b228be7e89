/** Every list of every answer has an end: a page with a budget in bytes and a next, or a number that it never passes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { type Answer, serve, type TestServer } from './servers.ts'

type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: { readonly [name: string]: Schema }
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
}
type Operation = {
  readonly operationId: string
  readonly responses: {
    readonly [status: string]: { readonly content?: { readonly [type: string]: { schema: Schema } } }
  }
}

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))

/** Lists that grow with no data: as long as the configuration, or the entry of a token, is. */
const WRITTEN_BY_HAND = /(^|\.)(services|bindings|resources|parts|started|waiting|failed|roles|roles\[\]\.topics)$/

describe('every list of a described answer', () => {
  it('is paged, or never longer than its maximum', () => {
    const operations = Object.values<Record<string, Operation>>(document.paths).flatMap(each => Object.values(each))
    const endless = operations.flatMap(({ operationId, responses }) =>
      Object.values(responses)
        .flatMap(({ content = {} }) => Object.entries(content))
        // Of a problem there is one error at a time.
        .filter(([type]) => type !== 'application/problem+json')
        .flatMap(([, { schema }]) => endlessLists(schema, '', { isPaged: false, within: [] }))
        .filter(path => !WRITTEN_BY_HAND.test(path))
        .map(path => `${operationId}: ${path}`),
    )
    assert.deepEqual(endless, [])
  })
})

type ListContext = { readonly isPaged: boolean; readonly within: readonly string[] }

function endlessLists(schema: Schema, path: string, context: ListContext): string[] {
  const { $ref, type, items, properties, anyOf = [], additionalProperties } = schema
  if ($ref !== undefined) {
    if (context.within.includes($ref)) return []
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    return endlessLists(document.components.schemas[name], path, { ...context, within: [...context.within, $ref] })
  }
  const isPaged = context.isPaged || properties?.next !== undefined
  return [
    ...(type === 'array' && !isPaged && schema.maxItems === undefined ? [path] : []),
    ...(items === undefined ? [] : endlessLists(items, `${path}[]`, context)),
    ...anyOf.flatMap(each => endlessLists(each, path, context)),
    ...Object.entries(properties ?? {}).flatMap(([name, each]) =>
      endlessLists(each, path === '' ? name : `${path}.${name}`, { ...context, isPaged }),
    ),
    ...(typeof additionalProperties === 'object' ? endlessLists(additionalProperties, `${path}{}`, context) : []),
  ]
}

const BUDGET = 64 * 1024
/** The braces, names and next of an answer, and what a topic is beside its groups. */
const AROUND = 1_500
const COUNT = 260

describe('a list that exceeds its budget', () => {
  let server: TestServer

  before(async () => {
    server = await serve({ limits: { answerBytes: BUDGET } })
    for (const number of numbers()) {
      const topic = `unread-${number}`
      await server.tm.configureTopic(topic, { semantics: 'pub-sub' })
      await server.tm.publish(topic, 1)
    }
    await server.tm.configureTopic('many', { semantics: 'pub-sub' })
    for (const number of numbers()) await server.tm.pull('many', `g-${number}`, { from: 'beginning' })
    await server.tm.configureTopic('held')
    await server.tm.publishMessages(
      'held',
      numbers().map(number => ({ payload: 1, messageId: `${'m'.repeat(200)}-${number}` })),
    )
    for (const number of numbers())
      await server.tm.pull('held', undefined, { consumer: `c${'c'.repeat(100)}-${number}` })
  })
  after(() => server[Symbol.asyncDispose]())

  const LISTS: readonly { path: string; name: string; idOf: (item: never) => string; count: number }[] = [
    { path: '/topics?limit=1000', name: 'topics', idOf: ({ topic }: { topic: string }) => topic, count: COUNT + 2 },
    {
      path: '/topics/many/groups?limit=1000',
      name: 'groups',
      idOf: ({ group }: { group: string }) => group,
      count: COUNT,
    },
    {
      path: '/topics/held/groups/any/consumers?limit=1000',
      name: 'consumers',
      idOf: ({ consumer }: { consumer: string }) => consumer,
      count: COUNT,
    },
    { path: '/topics/held/claims?limit=1000', name: 'claims', idOf: ({ id }: { id: string }) => id, count: COUNT },
  ]

  for (const { path, name, idOf, count } of LISTS) {
    it(`comes in pages that together are complete: ${name}`, async () => {
      const ids: string[] = []
      let pages = 0
      for (let query = ''; ; pages++) {
        const { status, bytes, body, text }: Answer = await server.get(`/api/v1${path}${query}`)
        assert.equal(status, 200, text)
        assert.ok(bytes.length <= BUDGET + AROUND, `${bytes.length} bytes`)
        ids.push(...body[name].map(idOf))
        if (body.next === null) break
        query = `&after=${encodeURIComponent(body.next)}`
      }
      assert.ok(pages > 0, 'it fits into one page: this test shows nothing')
      assert.deepEqual([ids.length, new Set(ids).size], [count, count])
    })
  }

  it('ends early in a topic, whose next continues in the list of its groups', async () => {
    const { bytes, body } = await server.get('/api/v1/topics/many')
    assert.ok(bytes.length <= BUDGET + AROUND, `${bytes.length} bytes`)
    assert.equal(body.next, body.groups.at(-1).group)
  })

  it('is cut in the health, with the number left out', async () => {
    const { body } = await server.get('/api/v1/health')
    const { unsubscribed, omitted, reasons } = body
    assert.deepEqual([unsubscribed.length, omitted, reasons.length], [100, COUNT - 100, 100])
    assert.match(reasons.at(-1).message, /; and \d+ other reasons$/)
    const ready = await server.get('/health/ready')
    assert.deepEqual([ready.status, ready.body.reasons.length], [200, 100])
  })
})

const numbers = (): string[] => Array.from({ length: COUNT }, (_, n) => String(n).padStart(3, '0'))
