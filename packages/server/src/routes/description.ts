import { Type } from 'typebox'
import { descriptionPage, PAGE_POLICY } from '../description/page.ts'
import { API, type Route, route } from '../route.ts'

const tag = 'server'

export const descriptionRoutes = (): Route[] => [
  route({
    method: 'GET',
    path: `${API}/openapi.json`,
    tag,
    name: 'openapi',
    role: 'any',
    summary: 'Get this API description',
    answers: { 200: { says: 'OpenAPI document', content: Type.Object({ openapi: Type.String() }) } },
    async handle({ request }) {
      return request.server.swagger()
    },
  }),

  route({
    method: 'GET',
    path: `${API}/`,
    tag,
    name: 'description',
    role: 'any',
    hidden: true,
    summary: 'Get this API description as a page',
    answers: { 200: { says: 'HTML page', content: { 'text/html': Type.String() } } },
    async handle({ request, reply }) {
      return reply
        .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY })
        .send(descriptionPage(request.server.swagger()))
    },
  }),
]
