import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { skipWithoutNats } from './nats-binary.ts'
import { startNats } from './nats-server.ts'

describe('a NATS server of the tests', { skip: skipWithoutNats() }, () => {
  it('runs, can be killed, and starts again on the same port', async () => {
    await using cluster = await startNats()
    const [node] = cluster.nodes
    assert.ok(node)
    assert.match(await greeting(node.port), /"jetstream":true/)
    await node.kill()
    assert.equal(node.pid, undefined)
    await node.start()
    assert.match(await greeting(node.port), /"jetstream":true/)
  })
})

/** The server introduces itself to whoever connects. */
async function greeting(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.setEncoding('utf8')
  for await (const text of socket) return text as string
  throw new Error('the server said nothing')
}
