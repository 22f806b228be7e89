import { Type } from 'typebox'
import type { Context } from '../context.ts'
import { API, type Route, route } from '../route.ts'
import { strict } from '../schemas/common.ts'
import { SessionSchema } from '../schemas/session.ts'
import { type CookieKind, clearCookie, cookieName, cookiesOf, setCookie } from '../security/cookies.ts'
import { type Identity, LOCAL } from '../security/identity.ts'
import { identityOf, visitOf } from '../security/visit.ts'

const tag = 'session'
const SESSION = `${API}/session`

export const sessionRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: SESSION,
    tag,
    name: 'session',
    role: 'any',
    summary: 'Show the identity and permissions of the caller',
    answers: {
      200: {
        says: 'Identity of the caller, and how it was established: token, session or local connection',
        content: SessionSchema,
      },
    },
    async handle({ request, reply }) {
      return reply.header('cache-control', 'no-store').send(sessionJson(identityOf(request)))
    },
  }),

  route({
    method: 'POST',
    path: SESSION,
    tag,
    name: 'login',
    role: 'open',
    summary: 'Log a browser in with a token',
    says:
      'Sets a cookie (HttpOnly, SameSite=Strict) for 12 hours, which is renewed while it is used. Reads and event ' +
      'streams need only the cookie. Writes also need the csrf value of the response as the X-CSRF-Token header. ' +
      'After ten wrong tokens a minute from one address, the server responds with 429.',
    body: strict({ token: Type.String({ minLength: 1, maxLength: 1_000 }) }),
    answers: { 200: { says: 'Identity and permissions of the session', content: SessionSchema } },
    problems: [401, 429],
    async handle({ request, reply, body: { token } }) {
      const { authenticator, sessions } = context.security
      reply.header('cache-control', 'no-store')
      if (authenticator.isOpen) return reply.send(sessionJson(LOCAL))
      const visit = visitOf(request)
      const { session, value } = await sessions.begin(authenticator.login(token, visit))
      visit.identity = session.identity
      return reply
        .header('set-cookie', setCookie(kindOf(context, request.socket), value, session.expiresAt))
        .send(sessionJson(session.identity))
    },
  }),

  route({
    method: 'DELETE',
    path: SESSION,
    tag,
    name: 'logout',
    role: 'open',
    summary: 'Log this browser out',
    answers: { 204: { says: 'The session is ended and its cookie removed' } },
    async handle({ request, reply }) {
      const { sessions } = context.security
      const kind = kindOf(context, request.socket)
      for (const value of cookiesOf(request.headers.cookie, cookieName(kind))) {
        const session = await sessions.read(value)
        if (session === undefined) continue
        visitOf(request).identity = session.identity
        sessions.end(session)
      }
      return reply.code(204).header('set-cookie', clearCookie(kind)).send()
    },
  }),
]

const kindOf = ({ security }: Context, { localPort }: { readonly localPort?: number | undefined }): CookieKind => ({
  port: localPort ?? 0,
  isSecure: security.isSecure,
})

const sessionJson = ({ name, by, grants, expiresAt, csrf }: Identity): object => ({
  name,
  by,
  roles: grants,
  expiresAt: expiresAt === null ? null : new Date(expiresAt),
  csrf: csrf ?? null,
})
