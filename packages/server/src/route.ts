import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteShorthandOptions } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { PROBLEM_TYPE } from './problems/problem.ts'
import { ProblemSchema } from './schemas/problem.ts'
import type { Access } from './security/roles.ts'

export { API } from './api.ts'
export const JSON_TYPE = 'application/json'

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

type Input<P extends TSchema, Q extends TSchema, B extends TSchema> = Exchange & {
  readonly params: Static<P>
  readonly query: Static<Q>
  readonly body: Static<B>
}

export type Answer = {
  readonly says: string
  /** By content type. A plain schema stands for application/json; without one the answer has no body. */
  readonly content?: TSchema | { readonly [type: string]: TSchema }
}

/** The answer 304: the client already has what it asks for. */
export const AS_YOU_HAVE_IT: Answer = { says: 'Not modified' }

/** A route: the same schemas validate and describe it. */
export type Route<P extends TSchema = TSchema, Q extends TSchema = TSchema, B extends TSchema = TSchema> = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly tag: string
  /** Unique, for generated clients. */
  readonly name: string
  /** The role that a caller needs; for a route with a topic in its path, for that topic. */
  readonly role: Access
  /**
   * some: the handler itself serves only the topics that the role is limited to. Otherwise an unlimited role is
   * required.
   */
  readonly scope?: 'some'
  readonly summary: string
  readonly says?: string
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** Content types beside JSON that the handler reads as a stream. */
  readonly streamedBody?: readonly string[]
  /** Numbers in its body are passed on as they are written, for payloads that are only stored. */
  readonly exactNumbers?: true
  readonly answers: { readonly [status: number]: Answer }
  /** Statuses of problems specific to the route. */
  readonly problems?: readonly number[]
  /** For people, and not part of the described API. */
  readonly hidden?: true
  /** An open stream, or a body that must not be compressed again. */
  readonly raw?: boolean
  /** Its answers may have megabytes: they are built a few at a time. */
  readonly large?: boolean
  handle(input: Input<P, Q, B>): unknown
}

/** Infers the handler's input from the schemas. */
export const route = <P extends TSchema, Q extends TSchema, B extends TSchema>(given: Route<P, Q, B>): Route =>
  given as unknown as Route

/** What the guard, the parsers and the audit need to know about a route. */
export type RouteConfig = {
  /** Whether the handler reads the body itself and checks its timeout. */
  readonly streamedBody?: boolean
  readonly exactNumbers?: boolean
  /** undefined: there is no such route. */
  readonly access?: Access
  readonly scope?: 'topic' | 'some' | 'all'
  readonly operation?: string
}

export function addRoute(app: FastifyInstance, given: Route): void {
  const { streamedBody } = given
  if (streamedBody === undefined) {
    addTo(app, given)
    return
  }
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser([...streamedBody], (_, payload, done) => done(null, payload))
    addTo(scope, given)
  })
}

function addTo(app: FastifyInstance, given: Route): void {
  const { method, path, params, query, body, streamedBody, raw = false } = given
  const options: RouteShorthandOptions & { compress?: false } = {
    schema: {
      ...(given.hidden && { hide: true }),
      summary: given.summary,
      operationId: given.name,
      tags: [given.tag],
      description: [given.says, roleText(given)].filter(text => text !== undefined).join(' '),
      ...(given.role === 'open' && { security: [] }),
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      ...(streamedBody && { body: { content: contentOf(streamed(streamedBody)) } }),
      response: responsesOf(given),
    },
    config: {
      ...(streamedBody && { streamedBody: true }),
      ...(given.exactNumbers && { exactNumbers: true }),
      access: given.role,
      scope: given.scope ?? (path.includes('/:topic') ? 'topic' : 'all'),
      operation: given.name,
    } satisfies RouteConfig as object,
    ...(raw && { compress: false, exposeHeadRoute: false }),
  }
  app.route({
    ...options,
    method: method as HTTPMethods,
    url: path,
    handler: (request, reply) =>
      given.handle({ request, reply, params: request.params, query: request.query, body: request.body } as never),
  })
}

/** For people, and for clients that choose their token by it. */
function roleText({ role, path, scope }: Route): string {
  if (role === 'open') return 'Needs no token.'
  if (role === 'any') return 'Needs any token.'
  const limited = scope === 'some' || path.includes('/:topic')
  return `Needs the role \`${role}\`${limited ? ', which may be limited to topics' : ' for all topics'}.`
}

function responsesOf({ answers, problems = [] }: Route): Record<string, object> {
  const responses: Record<string, object> = {}
  for (const [status, { says, content }] of Object.entries(answers)) {
    responses[status] = { description: says, ...(content === undefined ? NO_CONTENT : { content: contentOf(content) }) }
  }
  for (const status of [...problems, ...ANY_PROBLEM]) responses[status] ??= PROBLEM
  return responses
}

/** Problems of any route; those that a client has to handle are listed with the route. */
const ANY_PROBLEM = ['4xx', '5xx']

const PROBLEM = {
  description: 'Problem',
  content: { [PROBLEM_TYPE]: { schema: ProblemSchema } },
}

/** Bytes, which a schema can't describe. */
const streamed = (types: readonly string[]): { readonly [type: string]: TSchema } =>
  Object.fromEntries(types.map(type => [type, {}]))

const NO_CONTENT = { type: 'null' }

function contentOf(content: NonNullable<Answer['content']>): Record<string, { schema: TSchema }> {
  const isSchema = ['type', '$ref', 'anyOf'].some(
    key => typeof Reflect.get(content, key) === 'string' || Array.isArray(Reflect.get(content, key)),
  )
  const byType = (isSchema ? { [JSON_TYPE]: content } : content) as { [type: string]: TSchema }
  return Object.fromEntries(Object.entries(byType).map(([type, schema]) => [type, { schema }]))
}
