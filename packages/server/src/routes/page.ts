import type { Asset, Page } from '@tidemark/web'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { takesEncoding } from '../accepts.ts'
import type { Context } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { type Route, route } from '../route.ts'
import { strict } from '../schemas/common.ts'

const tag = 'page'

/** The shell and its files contain no data, so they need no token; the API, which supplies the data, does. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types tidemark"

/** Addresses of the page. All are answered with the shell; the page itself chooses the screen. */
const ADDRESSES = [
  '/',
  '/login',
  '/topics',
  '/topics/:topic',
  '/topics/:topic/messages',
  '/topics/:topic/groups/:group',
  '/dead-letters',
  '/services',
  '/services/:service',
  '/runs',
  '/runs/:runId',
]

/** Somebody has mistyped an address of the page, or followed an old link. Programs name no HTML, and get a problem. */
export const isForPeople = ({ method, url, headers }: FastifyRequest): boolean =>
  method === 'GET' && !/^\/(api|assets)\//.test(url) && /\btext\/html\b/.test(headers.accept ?? '')

export async function sendShell(context: Context, reply: FastifyReply): Promise<FastifyReply> {
  const { shell } = await context.page()
  return reply
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'cache-control': 'no-cache',
    })
    .send(shell)
}

export function pageRoutes(context: Context): Route[] {
  const load = (): Promise<Page> => context.page()
  return [
    ...ADDRESSES.map(path =>
      route({
        method: 'GET',
        path,
        tag,
        name: `page ${path}`,
        role: 'open',
        hidden: true,
        summary: 'Get the page',
        answers: { 200: { says: 'HTML page', content: { 'text/html': Type.String() } } },
        handle: ({ reply }) => sendShell(context, reply),
      }),
    ),
    route({
      method: 'GET',
      path: '/assets/:file',
      tag,
      name: 'asset',
      role: 'open',
      hidden: true,
      raw: true,
      summary: 'Get a file of the page',
      params: strict({ file: Type.String({ maxLength: 100 }) }),
      answers: { 200: { says: 'The file', content: { '*/*': Type.String() } } },
      async handle({ params: { file }, request, reply }) {
        const asset = (await load()).files.get(file)
        if (asset === undefined) throw new NotFoundError(`The page has no file '${file}'. Reload it`)
        // A worker has the policy of its own file; for any other file of the page only the page's counts.
        if (file.startsWith('worker-')) reply.header('content-security-policy', POLICY)
        return sendAsset(asset, request, reply)
      },
    }),
  ]
}

/** Its name contains a hash of its content, so a browser never has to ask again. */
function sendAsset({ type, bytes, brotli, gzip }: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const accepted = request.headers['accept-encoding']
  const [encoding, body] = takesEncoding(accepted, 'br')
    ? ['br', brotli]
    : takesEncoding(accepted, 'gzip')
      ? ['gzip', gzip]
      : [undefined, bytes]
  if (encoding !== undefined) reply.header('content-encoding', encoding)
  return reply
    .headers({
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    })
    .send(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
}
