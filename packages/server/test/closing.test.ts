import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { describe, it } from 'node:test'
import { AddressInUseError, startServer } from '@tidemark/server'
import { until } from '../../../testing/until.ts'
import { SILENT, serve } from './servers.ts'
import { Listener } from './streams.ts'
import { startWorld } from './worlds.ts'

describe('a server that closes', () => {
  it('answers pending requests, ends streams and kept connections, and may be closed again', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work')
    const agent = new Agent({ keepAlive: true })
    const [kept] = await once(request(`${server.url}/api/v1/topics`, { agent }).end(), 'response')
    kept.resume()
    await once(kept, 'end')
    await using events = await Listener.open(server.url, '/api/v1/events')
    const waiting = request(`${server.url}/api/v1/topics/work/pull`, {
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json' },
    }).end('{"waitMs":60000}')
    const answered = once(waiting, 'response')
    await until(() => server.tm.metrics().totals.claims > 0, { what: 'the pull to wait' })
    await server.server.close()
    await server.server.close()
    const [answer] = await answered
    assert.equal(answer.statusCode, 200)
    await until(() => events.isEnded, { what: 'the end of the stream' })
    await assert.rejects(fetch(`${server.url}/health`))
    agent.destroy()
  })

  it('does not wait for a streamed body of ticks', async () => {
    const world = await startWorld()
    const sending = request(`${world.url}/api/v1/ingest`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/octet-stream' },
    })
    const ended = new Promise(resolve => sending.on('close', resolve))
    sending.on('error', () => undefined)
    sending.on('response', response => response.resume())
    sending.flushHeaders()
    sending.write(Buffer.from([200]))
    await until(async () => (await world.get('/health')).status === 200, { what: 'the server to be at it' })
    await world[Symbol.asyncDispose]()
    await ended
  })
})

describe('a port in use', () => {
  it('is refused with what to do', async () => {
    await using server = await serve()
    const port = Number(new URL(server.url).port)
    await assert.rejects(startServer({ port, logger: SILENT }), (error: Error) => {
      assert.ok(error instanceof AddressInUseError)
      assert.match(error.message, /another port/)
      return true
    })
  })
})
