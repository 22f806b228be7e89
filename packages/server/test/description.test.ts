import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
// Inside: a description with what ours must never contain.
import { descriptionPage } from '../src/description/page.ts'
// Inside: the description as it is made now, to compare the kept one with it.
import { openApiDocument } from '../src/openapi-document.ts'
import { serve } from './servers.ts'

const KEPT = new URL('../openapi.json', import.meta.url)

describe('the description', () => {
  it('in the repository matches the routes (if not: npm run generate)', async () => {
    const isCurrent = readFileSync(KEPT, 'utf8') === (await openApiDocument())
    assert.ok(
      isCurrent,
      'packages/server/openapi.json is not what the routes say. Run `npm run generate` and commit it',
    )
  })

  it('is served as in the repository (if not: npm run generate)', async () => {
    await using server = await serve()
    const { body } = await server.get('/api/v1/openapi.json')
    assert.deepEqual(body, JSON.parse(readFileSync(KEPT, 'utf8')))
  })

  it('is found from the address of a server without the page', async () => {
    await using server = await serve({ page: false })
    const response = await fetch(new URL('/', server.url))
    assert.equal(response.status, 200)
    assert.equal(response.redirected, true)
    assert.equal(new URL(response.url).pathname, '/api/v1/')
    assert.match(await response.text(), /^<!doctype html>/i)
  })

  it('names every operation once, and says what it is for', () => {
    const { paths } = JSON.parse(readFileSync(KEPT, 'utf8'))
    const operations = Object.values<Record<string, { operationId: string; summary: string }>>(paths).flatMap(
      Object.values,
    )
    const names = operations.map(({ operationId }) => operationId)
    assert.equal(new Set(names).size, names.length)
    assert.ok(operations.every(({ summary }) => summary.length > 5))
    assert.ok(names.length > 60)
  })

  it('is a page without scripts, under a policy that allows its style and nothing else', async () => {
    await using server = await serve()
    const { text, headers } = await server.get('/api/v1/')
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}';/)
    assert.doesNotMatch(policy, /unsafe/)
    const [, style = ''] = /<style>(.*?)<\/style>/s.exec(text) ?? []
    assert.ok(policy.includes(createHash('sha256').update(style).digest('base64')))
    assert.doesNotMatch(text, /<script|\son\w+=|style=|https?:\/\//)
    for (const path of ['/api/v1/settle', '/api/v1/topics/{topic}/pull', '/metrics'])
      assert.ok(text.includes(path), path)
  })

  it('escapes whatever it shows', () => {
    const attack = '"><script>alert(1)</script>'
    const page = descriptionPage({
      info: { title: attack, description: attack },
      tags: [{ name: attack, description: attack }],
      paths: {
        [`/${attack}`]: {
          get: {
            tags: [attack],
            summary: attack,
            description: attack,
            parameters: [{ name: attack, in: attack, description: attack, schema: { [attack]: attack } }],
            requestBody: { content: { [attack]: { schema: { [attack]: attack } } } },
            responses: { [attack]: { description: attack, content: { [attack]: { schema: { [attack]: attack } } } } },
          },
        },
      },
    })
    assert.ok(page.includes('&lt;script&gt;'))
    assert.ok(!page.includes('<script') && !page.includes(attack))
  })
})
