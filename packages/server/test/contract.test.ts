/** Generated from the description: every route answers as described, for good and for bad input. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Answer, Call } from './servers.ts'
import { delimited, metadataOf, startWorld, ticksOf, type World } from './worlds.ts'

type Schema = { readonly [key: string]: unknown }
type Content = { readonly [type: string]: { readonly schema: Schema } }
type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: boolean
  readonly schema: Schema
}
type Operation = {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: { readonly [status: string]: { readonly content?: Content } }
}
type Route = { readonly method: string; readonly path: string; readonly operation: Operation }

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
const routes: Route[] = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema({ $id: 'document', ...document })
/** By the text of the schema: nearly all refusals have the same. */
const validators = new Map<string, ValidateFunction>()

/** The values that make a call of each route a good one. */
const PARAMETERS: Record<string, string> = {
  topic: 'contract',
  group: 'g',
  claim: '00000000-0000-4000-8000-000000000000',
  job: 'subscriptions',
  service: 'reconciler',
  tick: '3',
  coordinates: '1,1',
  organismId: '1',
  from: '1',
  to: '2',
}

const UNLIKE =
  'The answer is not what openapi.json describes. Change the schema in packages/server/src/schemas/ or src/routes/, or what ' +
  'the route answers, and run `npm run generate`.'

/** What was pulled and not settled is not waited for. */
const IMPATIENT = { timeoutMs: '0' }

/** Bodies of good calls, where a body of no fields is none. */
const BODIES: Record<string, (world: World) => Promise<unknown> | unknown> = {
  configureTopic: () => ({ maxAttempts: 3 }),
  previewTopic: () => ({ maxAttempts: 4 }),
  previewReset: () => ({ to: 'beginning' }),
  setTracking: () => ({ tracking: 'reference' }),
  completeOrphans: () => ({ olderThan: '1h' }),
  publish: () => ({ payload: { n: 1 }, key: 'k' }),
  publishBatch: () => ({ messages: [{ payload: 1 }, { payloadBase64: 'AQI=' }] }),
  pull: () => ({ group: 'g', from: 'beginning', max: 5 }),
  settle: async world => ({ receipt: await receiptOf(world), acks: 'all' }),
  extend: async world => ({ receipt: await receiptOf(world), lease: '1m' }),
  resetGroup: () => ({ to: 'beginning' }),
  redrive: () => ({ all: true }),
  redrivePipelineLetters: () => ({ all: true }),
  discardPipelineLetters: () => ({ all: true }),
  retryFailedBatch: () => ({ indexer: 'dummy', key: 'none' }),
  discard: () => ({ all: true }),
  setSpeed: () => ({ ticksPerSecond: 5 }),
  stepService: () => ({ ticks: 1 }),
  login: () => ({ token: 'any text: this server has no tokens' }),
  ingestMetadata: world => metadataOf(world.runId),
}

/** Good input for which the right answer is still a problem: nothing is in the state that it needs. */
const REFUSED: Record<string, number> = {
  resurrectGroup: 409,
  cancelBackfill: 409,
  resumeBackfill: 409,
  startBackfill: 409,
  deadLetter: 404,
  pipelineLetter: 404,
  releaseClaim: 404,
  // The service of these tests is no simulation.
  setSpeed: 409,
  stepService: 409,
}

/** Open streams have tests of their own. */
const STREAMS = ['tail', 'events']
/** What ends what the others need comes last. */
const LAST = ['cancelGroup', 'removeGroup', 'deleteTopic', 'stopPipeline', 'stopService']

describe('the contract', () => {
  let world: World

  before(async () => {
    world = await startWorld()
    await world.tm.configureTopic('contract', { semantics: 'pub-sub' })
    await world.tm.pull('contract', 'g')
    await world.post('/api/v1/ingest/metadata', metadataOf(world.runId))
    await world.ingest(ticksOf(world.runId, 0, 5))
    await world.indexed(5)
  })
  after(() => world[Symbol.asyncDispose]())

  const called = routes.filter(({ operation }) => !STREAMS.includes(operation.operationId))
  const ordered = [...called].sort((one, other) => rank(one) - rank(other))

  for (const route of ordered.filter(route => rank(route) < 0)) {
    it(`${nameOf(route)} answers good input as described`, async () => await checkGood(route))
  }

  for (const route of called) {
    it(`${nameOf(route)} answers bad input as described`, async () => {
      for (const [what, path, call] of await badCalls(route)) {
        const answer = await world.call(route.method, path, call)
        assert.ok(answer.status >= 400 && answer.status < 500, `${what}: ${answer.status} ${answer.text}`)
        checkAnswer(route, answer)
      }
    })
  }

  for (const route of ordered.filter(route => rank(route) >= 0)) {
    it(`${nameOf(route)} answers good input as described`, async () => await checkGood(route))
  }

  async function checkGood(route: Route): Promise<void> {
    const answer = await world.call(route.method, pathOf(route, IMPATIENT), await goodCall(route))
    const expected = REFUSED[route.operation.operationId]
    if (expected === undefined) assert.ok(answer.status < 300, answer.text)
    else assert.equal(answer.status, expected, answer.text)
    checkAnswer(route, answer)
  }

  function pathOf({ path, operation }: Route, overrides: Record<string, string> = {}): string {
    const value = (name: string): string => overrides[name] ?? goodValue(name)
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(value(name)))
    const given = (operation.parameters ?? []).filter(
      each => each.in === 'query' && (each.required || each.name in overrides),
    )
    const query = given.map(({ name }) => `${name}=${encodeURIComponent(value(name))}`).join('&')
    return query === '' ? filled : `${filled}?${query}`
  }

  const goodValue = (name: string): string => (name === 'runId' ? world.runId : (PARAMETERS[name] ?? '1'))

  async function goodCall({ operation }: Route): Promise<Call> {
    const content = operation.requestBody?.content
    if (content === undefined) return {}
    const isJson = 'application/json' in content
    if (isJson) return { body: (await BODIES[operation.operationId]?.(world)) ?? {} }
    return { raw: delimited(ticksOf(world.runId, 6, 7)), headers: { 'content-type': Object.keys(content)[0] ?? '' } }
  }

  /** One thing wrong at a time, derived from the schemas. */
  async function badCalls(route: Route): Promise<[what: string, path: string, call: Call][]> {
    const { operation } = route
    const good = await goodCall(route)
    const bad: [string, string, Call][] = []
    for (const { name, schema, in: place } of operation.parameters ?? []) {
      for (const value of wrongTexts(schema))
        bad.push([`${place} ${name}=${value}`, pathOf(route, { [name]: value }), good])
    }
    if (operation.parameters?.some(each => each.in === 'query')) {
      bad.push(['an unknown parameter', `${pathOf(route)}${pathOf(route).includes('?') ? '&' : '?'}unknown=1`, good])
    }
    const schema = operation.requestBody?.content['application/json']?.schema
    if (schema !== undefined) {
      const path = pathOf(route)
      const body = good.body as Record<string, unknown>
      bad.push(['an unknown field', path, { body: { ...body, unknown: 1 } }])
      bad.push(['no JSON', path, { raw: '{', headers: { 'content-type': 'application/json' } }])
      bad.push(['an array', path, { body: [] }])
      bad.push(['another type', path, { raw: '<a/>', headers: { 'content-type': 'application/xml' } }])
      for (const field of (schema.required as string[] | undefined) ?? []) {
        bad.push([`without ${field}`, path, { body: { ...body, [field]: undefined } }])
      }
      for (const [field, each] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {})) {
        for (const value of wrongValues(each))
          bad.push([`${field}: ${JSON.stringify(value)}`, path, { body: { ...body, [field]: value } }])
      }
    }
    return bad
  }
})

function rank({ operation }: Route): number {
  return LAST.indexOf(operation.operationId)
}

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`
}

/** The status is one that is described, the type is one that it has, and the body fits the schema of that. */
function checkAnswer({ operation }: Route, { status, headers, text, body }: Answer): void {
  const described = operation.responses[status] ?? operation.responses[`${Math.floor(status / 100)}XX`]
  assert.ok(described !== undefined, `${UNLIKE} Status ${status} is not described: ${text}`)
  if (described.content === undefined || (described.content['application/json']?.schema.type as unknown) === 'null') {
    assert.equal(text, '')
    return
  }
  const type = String(headers['content-type']).split(';')[0] ?? ''
  const schema = described.content[type]?.schema
  assert.ok(schema !== undefined, `${UNLIKE} ${type} is not described for ${status}`)
  if (!type.endsWith('json')) return
  const validate = validatorOf(schema)
  const wrong = validate(body) ? [] : (validate.errors ?? [])
  const told = wrong.map(({ instancePath, message, params }) => `${instancePath}: ${message} ${JSON.stringify(params)}`)
  assert.deepEqual(told, [], `${UNLIKE} The answer begins with ${text.slice(0, 500)}`)
}

function validatorOf(schema: Schema): ValidateFunction {
  const text = JSON.stringify(schema)
  const known = validators.get(text) ?? ajv.compile(withDocument(schema) as Schema)
  validators.set(text, known)
  return known
}

/** References of the document, from outside of it. */
function withDocument(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDocument)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, key === '$ref' ? `document${each}` : withDocument(each)]),
  )
}

/** Values that are none by the schema, to be sent as texts. */
function wrongTexts(schema: Schema): string[] {
  const attacks = ['../../etc/passwd', '..%2f..%2fx', "'; drop table x; --", '<script>', '\0', '__proto__']
  const candidates = ['x y', '-1', '1.5', 'ü', 'x'.repeat(2_000), '99999999999999999999999', ...attacks]
  const reading = new Ajv({ strict: false, validateFormats: false, coerceTypes: true })
  const validate = reading.compile({ type: 'object', properties: { value: schema } })
  return candidates.filter(value => !validate({ value }))
}

function wrongValues(schema: Schema): unknown[] {
  const candidates = [null, true, -1, 1.5, '', 'x y', [], {}, [[]], { x: 1 }, 1e300]
  const validate = validatorOf(schema)
  return candidates.filter(value => !validate(value))
}

async function receiptOf(world: World): Promise<string> {
  await world.tm.publish('contract', 1)
  const { receipt } = await world.tm.pull('contract', 'g', { wait: '10s' })
  assert.ok(receipt !== null)
  return receipt
}
