import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { BodyTimeoutError, NestingError } from './errors.ts'
import { exactJson } from './exact-json.ts'
import type { Limits } from './limits.ts'
import type { RouteConfig } from './route.ts'

/** Only JSON bodies are read here; ticks are streamed to the route that takes them. */
export function takeBodies(app: FastifyInstance, limits: Limits): void {
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = String(body)
    if (text === '') return done(null, undefined)
    if (isNestedDeeper(text, limits.nesting)) return done(new NestingError(limits.nesting))
    const { exactNumbers = false } = request.routeOptions.config as RouteConfig
    parseJson(request, text, exactNumbers ? (error, body) => done(error, error ? body : exactJson(text, body)) : done)
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    // Streamed bodies check their own timeout: only silence counts there.
    const { streamedBody = false } = reply.routeOptions.config as RouteConfig
    if (hasBody(request.headers) && !streamedBody) limitTime(payload as Readable, limits.bodyTimeoutMs)
    done(null, payload)
  })
  app.addHook('preValidation', (request, reply, done) => {
    // A missing body is treated as an empty object, so that errors name the missing fields.
    if (reply.routeOptions.schema?.body !== undefined && request.body === undefined) request.body = {}
    done()
  })
}

/** Whether a body is announced. Otherwise nobody reads it, and its end is not noticed. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return length !== '0' || encoding !== undefined
}

/** Fails the reader instead of destroying the socket, so that the client is told why. */
function limitTime(payload: Readable, ms: number): void {
  const timer = setTimeout(() => {
    if (payload.listenerCount('error') > 0) payload.emit('error', new BodyTimeoutError(ms))
    else payload.destroy()
  }, ms)
  const stop = (): void => clearTimeout(timer)
  payload.once('end', stop)
  payload.once('close', stop)
}

/** Counted in the text, before it is parsed. */
export function isNestedDeeper(text: string, most: number): boolean {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === BACKSLASH) index++
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > most) return true
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--
  }
  return false
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
