import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'tidemark'
import { RateLimitError, TooManyError, UnsentAnswersError } from '../errors.ts'
import { visitOf } from '../security/visit.ts'
import { PROBLEM_TYPE, toProblem } from './problem.ts'

const RETRY_SECONDS = 1
/** Somebody has to free space, or old data has to expire. */
const ROOM_SECONDS = 10

/** The only place where an error becomes an answer. */
export function answerProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  const problem = toProblem(error)
  const { status, code } = problem
  const route = request.routeOptions?.url ?? null
  if (status >= 500 && !isLimit(error)) logger.error({ err: error, method: request.method, route }, 'a request failed')
  else logger.debug({ code, status, method: request.method, route }, 'a request was refused')
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="tidemark"')
  if (status === 503) reply.header('retry-after', RETRY_SECONDS)
  if (error instanceof RateLimitError) reply.header('retry-after', error.retrySeconds)
  visitOf(request).problem = code
  if (status === 507) reply.header('retry-after', ROOM_SECONDS)
  // A body that is still being sent is not waited for: it could take for ever.
  if (!request.raw.complete) reply.header('connection', 'close')
  reply.code(status).header('content-type', PROBLEM_TYPE).header('cache-control', 'no-store')
  // As bytes: for text, a charset would be added, which JSON does not have.
  reply.send(Buffer.from(JSON.stringify(problem)))
}

/** Clients over a limit must not fill the log. /metrics counts these answers. */
const isLimit = (error: unknown): boolean => error instanceof TooManyError || error instanceof UnsentAnswersError
