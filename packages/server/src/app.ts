import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import compress from '@fastify/compress'
import swagger from '@fastify/swagger'
import { Ajv } from 'ajv'
import { type FastifyHttpOptions, type FastifyInstance, fastify } from 'fastify'
import { recordAnswer, unroutedEntry } from './audit/record.ts'
import { takeBodies } from './bodies.ts'
import type { Context } from './context.ts'
import { NotFoundError } from './errors.ts'
import { ServerMetrics } from './metrics.ts'
import { openApiOptions } from './openapi.ts'
import { answerProblem } from './problems/answer-problem.ts'
import { answerClientError, answerConnect, answerExpectation } from './problems/client-error.ts'
import { API, addRoute, type Route, type RouteConfig } from './route.ts'
import { allRoutes } from './routes/all-routes.ts'
import { isForPeople, sendShell } from './routes/page.ts'
import { sharedSchemas } from './schemas/shared.ts'
import { plain } from './security/addresses.ts'
import { SECURITY_HEADERS, setSecurityHeaders } from './security/headers.ts'
import { pathOf } from './security/request-target.ts'
import { readTls } from './security/tls.ts'

/** Smaller answers are not worth compressing. */
const COMPRESS_FROM = 1024
const LONGEST_PARAM = 500
/** Timeout of an idle connection: longer than the longest wait of a pull. */
const SILENCE_MS = 900_000

/** The guard refuses a request without a Host, with all headers; Node would do it without them. */
const HTTP = {
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
  requireHostHeader: false,
} as const

/** The whole server except its socket. */
export async function createApp(context: Context): Promise<FastifyInstance> {
  const app = createFastify(context)
  const metrics = new ServerMetrics(context)
  addHooks(app, context, metrics)
  context.live.start()
  // Somebody who opens the printed address finds at least a page that says what there is.
  if (!context.settings.page) app.get('/', { schema: { hide: true } }, (_, reply) => reply.redirect(`${API}/`))
  takeBodies(app, context.settings.limits)
  validateStrictly(app)
  for (const schema of sharedSchemas()) app.addSchema(schema)
  await app.register(swagger, openApiOptions)
  await app.register(compress, {
    threshold: COMPRESS_FROM,
    encodings: ['zstd', 'br', 'gzip'],
    // Cells are compact already, and their route has to be fast.
    customTypes: /^text\/(?!event-stream)|[/+]json/,
    globalDecompression: false,
  })
  await app.register(async scope => {
    for (const each of allRoutes(context, metrics)) {
      const { largeAnswers } = context
      const handle: Route['handle'] = input => largeAnswers.inTurn(() => each.handle(input))
      addRoute(scope, each.large === true ? { ...each, handle } : each)
    }
  })
  return app
}

/** Requests that never reach a route also get security headers, an answer in the common form, and an audit entry. */
function createFastify({ settings, audit, security: { guard } }: Context): FastifyInstance {
  const { limits, logger } = settings
  const recordUnrouted = ({ remoteAddress = '' }: Socket, status: number | undefined): void => {
    if (status !== undefined) audit.add(unroutedEntry(plain(remoteAddress), status))
  }
  const app = fastify({
    ...(settings.tls ? { https: { ...HTTP, ...readTls(settings.tls) } } : { http: HTTP }),
    logger: false,
    bodyLimit: limits.bodyBytes,
    routerOptions: { maxParamLength: LONGEST_PARAM, caseSensitive: true },
    // Bodies have their own timeout (bodies.ts): ticks may be streamed for hours.
    requestTimeout: 0,
    keepAliveTimeout: 30_000,
    connectionTimeout: SILENCE_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    clientErrorHandler: (error, socket) => recordUnrouted(socket, answerClientError(error, socket)),
    rewriteUrl(request) {
      const target = request.url ?? '/'
      Object.assign(request, { originalUrl: target })
      return pathOf(target)
    },
    // An invalid URL: callers without access are not told about that either.
    frameworkErrors: (error, request, reply) => {
      recordAnswer(audit, request, reply)
      guard.check(request, reply).then(
        () => answerProblem(error, request, reply, logger),
        refusal => answerProblem(refusal, request, reply, logger),
      )
    },
  } as FastifyHttpOptions<Server>)
  app.server.prependListener('request', (_, response) => setSecurityHeaders(response))
  app.server.on('checkExpectation', (request, response) =>
    recordUnrouted(request.socket, answerExpectation(request, response)),
  )
  app.server.on('connect', ({ socket }) => recordUnrouted(socket, answerConnect(socket)))
  app.server.maxConnections = limits.connections
  return app
}

function addHooks(app: FastifyInstance, context: Context, metrics: ServerMetrics): void {
  const { audit, security, settings } = context
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS)
    recordAnswer(audit, request, reply)
    await security.guard.check(request, reply)
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const { access } = (request.routeOptions?.config ?? {}) as RouteConfig
    if (request.method !== 'GET' && (access === 'operate' || access === 'admin')) context.sharedReads.forget()
    // A connection that is kept alive would keep the server from closing.
    if (context.closing.signal.aborted) reply.header('connection', 'close')
    context.largeAnswers.send(payload, reply.raw)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    metrics.answered(request, reply)
    done()
  })
  app.setErrorHandler((error, request, reply) => answerProblem(error, request, reply, settings.logger))
  app.setNotFoundHandler((request, reply) => {
    const { method, url } = request
    if (settings.page && isForPeople(request)) return sendShell(context, reply.code(404))
    throw new NotFoundError(
      `There is no ${method} ${url.split('?')[0]?.slice(0, 200)}. GET ${API}/ lists the available routes`,
    )
  })
}

/**
 * Unknown properties are refused, not removed. Paths and queries are text, so numbers are parsed from it; a body must
 * have the right types.
 */
function validateStrictly(app: FastifyInstance): void {
  const common = { allErrors: false, strict: false, validateFormats: false, useDefaults: true } as const
  const strict = new Ajv({ ...common, coerceTypes: false })
  const reading = new Ajv({ ...common, coerceTypes: true })
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? strict : reading).compile(schema as object))
  // Answers are sent as the handlers return them; the contract tests check them against their schemas.
  app.setSerializerCompiler(() => JSON.stringify)
}
