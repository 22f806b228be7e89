import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { serve } from './servers.ts'

const HTML = { accept: 'text/html' }

describe('the page', () => {
  it('answers every address of the page with its shell, without a token', async () => {
    await using server = await serve({ tokens: { admin: 'kJ8-vq2LmW9x_Tz4RbY7' } })
    for (const path of [
      '/',
      '/topics',
      '/topics/orders.new',
      '/topics/orders/messages?m=8',
      '/topics/o/groups/-',
      '/runs/x',
    ]) {
      const { status, headers, text } = await server.get(path, HTML)
      assert.equal(status, 200, path)
      assert.match(text, /^<!doctype html>/)
      assert.match(String(headers['content-security-policy']), /require-trusted-types-for 'script'/)
      assert.doesNotMatch(String(headers['content-security-policy']), /unsafe/)
    }
    assert.equal((await server.get('/api/v1/topics')).status, 401)
    assert.equal((await server.get('/nowhere', HTML)).status, 401)
  })

  it('answers an address that does not exist with its shell, so that people are told in words', async () => {
    await using server = await serve()
    const { status, headers, text } = await server.get('/topics/orders/mesages', HTML)
    assert.equal(status, 404)
    assert.match(text, /^<!doctype html>/)
    assert.match(String(headers['content-security-policy']), /require-trusted-types-for 'script'/)
    for (const [path, accept] of [
      ['/topics/orders/mesages', '*/*'],
      ['/api/v1/nowhere', 'text/html'],
      ['/assets/nothing.js', 'text/html'],
    ] as const) {
      const problem = await server.get(path, { accept })
      assert.deepEqual([problem.status, problem.body.code], [404, 'TIDEMARK_NOT_FOUND'], path)
    }
    assert.equal((await server.post('/nowhere', {}, HTML)).status, 404)
  })

  it('serves the files that the shell names, compressed and cacheable for ever', async () => {
    await using server = await serve()
    const { text } = await server.get('/', HTML)
    const files = [...text.matchAll(/\/assets\/[\w.-]+/g)].map(([file]) => file)
    assert.equal(files.length, 2)
    for (const file of files) {
      const plain = await server.get(file)
      const { headers, bytes } = await server.get(file, { 'accept-encoding': 'br, gzip' })
      assert.match(String(headers['cache-control']), /immutable/)
      assert.equal(headers['content-encoding'], 'br')
      assert.match(String(headers['content-security-policy']), /default-src 'none'/)
      assert.deepEqual(brotliDecompressSync(bytes), plain.bytes)
    }
    assert.equal((await server.get('/assets/main-OLD.js')).status, 404)
    assert.equal((await server.get('/assets/..%2f..%2fpackage.json')).status, 404)
  })

  it('stays below 60 kB for the control room', async () => {
    await using server = await serve()
    const { text } = await server.get('/', HTML)
    const script = /\/assets\/main-[\w]+\.js/.exec(text)?.[0] ?? ''
    const { bytes } = await server.get(script, { 'accept-encoding': 'br' })
    assert.ok(bytes.length < 60_000, `${bytes.length} bytes`)
  })

  it('is left out with page: false', async () => {
    await using server = await serve({ page: false })
    assert.equal((await server.get('/', HTML)).status, 302)
    assert.equal((await server.get('/topics', HTML)).status, 404)
  })
})
