/** Every route with every role and bad input: who may not is told that and no more, and nothing is ever the server's fault. */
import assert from 'node:assert/strict'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { until } from '../../../testing/until.ts'
import { type Access, ROLES, type Role } from '../src/security/roles.ts'
import type { Answer, Call } from './servers.ts'
import { metadataOf, startWorld, ticksOf, type World } from './worlds.ts'

type Operation = {
  readonly operationId: string
  readonly description: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: { readonly [type: string]: unknown } }
}
type Route = { readonly method: string; readonly path: string; readonly operation: Operation }

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
const routes: Route[] = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

const secretOf = (role: string): string => `${role}-0f3k9q2m7x5v`
const tokens = Object.fromEntries(ROLES.map(role => [role, secretOf(role)])) as { [role in Role]: string }
const bearer = (role: Role) => ({ authorization: `Bearer ${tokens[role]}` })

/** As in roles.test.ts, by hand. */
const MAY: { readonly [role in Role]: readonly Access[] } = {
  metrics: ['any', 'open', 'metrics'],
  read: ['any', 'open', 'metrics', 'read'],
  publish: ['any', 'open', 'publish'],
  consume: ['any', 'open', 'consume'],
  operate: ['any', 'open', 'metrics', 'read', 'operate'],
  admin: ['any', 'open', 'metrics', 'read', 'publish', 'consume', 'operate', 'admin'],
}

function accessOf({ description }: Operation): Access {
  const [, role] = /Needs the role `(\w+)`/.exec(description) ?? []
  if (role !== undefined) return role as Role
  return description.includes('Needs any token.') ? 'any' : 'open'
}

/** Node sends the body of a DELETE without its length. */
const lengthOf = (raw: string) => ({ 'content-length': String(Buffer.byteLength(raw)) })

const BODY_BYTES = 64 * 1024
const JSON_BODY = { 'content-type': 'application/json' }

/** What is wrong with each: values, names, texts, types, sizes. */
function badCalls({ method, path, operation }: Route): [path: string, call: Call][] {
  const filled = (value: string): string => path.replace(/\{\w+\}/g, value)
  const paths = path.includes('{') ? ['%00', '..%2f..%2fetc%2fpasswd', 'x'.repeat(400), '-1e400'].map(filled) : []
  const queries = (operation.parameters ?? []).filter(each => each.in === 'query')
  const wrong = [
    '?unknown=1&__proto__=2&constructor=3',
    ...queries.flatMap(({ name }) => [`?${name}=x%00y`, `?${name}=1&${name}=2`, `?${name}[a]=1`]),
  ]
  const calls: [string, Call][] = [...paths, ...wrong.map(query => `${filled('none')}${query}`)].map(each => [each, {}])
  if (method === 'GET') return calls
  const bodies = ['{', '[]', 'null', '{"__proto__":{"a":1}}', '"x"', '\0', '[['.repeat(500), 'x'.repeat(BODY_BYTES + 1)]
  for (const raw of bodies) calls.push([filled('none'), { raw, headers: { ...JSON_BODY, ...lengthOf(raw) } }])
  calls.push([filled('none'), { raw: 'x', headers: { 'content-type': 'x/y', ...lengthOf('x') } }])
  return calls
}

const OPEN_STREAMS = ['events', 'tail']

describe('every route with every role and bad input', () => {
  let world: World
  before(async () => {
    world = await startWorld({ tokens, limits: { bodyBytes: BODY_BYTES } })
  })
  after(() => world[Symbol.asyncDispose]())

  for (const role of ROLES) {
    it(`refuses '${role}' without details, or says what is wrong with the input`, async () => {
      for (const route of routes) {
        const { operationId } = route.operation
        const mayPass = MAY[role].includes(accessOf(route.operation))
        if (mayPass && OPEN_STREAMS.includes(operationId)) continue
        // What a role may, all that may are told alike: one of them tries everything.
        const calls = mayPass && role !== 'admin' ? badCalls(route).slice(0, 3) : badCalls(route)
        for (const [path, { headers = {}, ...call }] of mayPass ? calls : calls.slice(-4)) {
          const answer = await world.call(route.method, path, { ...call, headers: { ...headers, ...bearer(role) } })
          check(`${role}: ${route.method} ${path.slice(0, 200)} ${String(call.raw).slice(0, 40)}`, answer, mayPass)
        }
      }
    })
  }

  it('is 401 without a token, before anything else', async () => {
    for (const route of routes.filter(({ operation }) => accessOf(operation) !== 'open')) {
      for (const [path, call] of badCalls(route).slice(-2)) {
        assert.equal((await world.call(route.method, path, call)).status, 401, `${route.method} ${path}`)
      }
    }
  })

  function check(what: string, { status, text, body }: Answer, mayPass: boolean): void {
    assert.ok(status < 500, `${what}: ${status} ${text}`)
    assert.doesNotMatch(text, new RegExp(`${world.folder}|${process.cwd()}`), what)
    if (mayPass) {
      assert.notEqual(status, 401, what)
      assert.notEqual(body?.code, 'TIDEMARK_FORBIDDEN', what)
      return
    }
    assert.deepEqual([status, body.code, body.errors], [403, 'TIDEMARK_FORBIDDEN', undefined], what)
  }
})

describe('every route while what it needs is unavailable', () => {
  it('answers without the name of a folder of the server', async () => {
    await using world = await startWorld()
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 5))
    await world.indexed(5)
    for (const name of ['storage', 'index', 'topics.db']) {
      renameSync(join(world.folder, name), join(world.folder, `${name}.away`))
      writeFileSync(join(world.folder, name), 'in the way')
    }
    await until(async () => !(await world.get('/api/v1/pipeline')).body.healthy, { what: 'it to be noticed' })
    const values: Record<string, string> = {
      runId: world.runId,
      topic: 'batch-topic',
      service: 'persistence',
      tick: '3',
    }
    let problems = 0
    for (const { method, path, operation } of routes) {
      if (OPEN_STREAMS.includes(operation.operationId) || /stop|restart/i.test(operation.operationId)) continue
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '1')
      const query = url.endsWith('difference') ? '?from=1&to=2' : ''
      const answer = await world.call(method, `${url}${query}`, method === 'GET' ? {} : { body: {} })
      if (answer.status >= 500) problems++
      assert.ok(!answer.text.includes(world.folder), `${method} ${url}: ${answer.text}`)
      assert.ok(!answer.text.includes(process.cwd()), `${method} ${url}: ${answer.text}`)
    }
    assert.ok(problems > 5, `${problems} problems: this test shows nothing`)
  })
})
