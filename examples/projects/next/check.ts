/** Starts the built server and the worker, publishes over HTTP and waits for the worker to have it. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

const started: ChildProcess[] = []
process.exitCode = 1
try {
  const server = start(['node_modules/next/dist/bin/next', 'start', '--port', '0', '--hostname', '127.0.0.1'])
  const url = (await line(server, /http:\/\/127\.0\.0\.1:\d+/))[0]
  const post = (body: object) => fetch(`${url}/orders`, { method: 'POST', body: JSON.stringify(body) })
  for (const duplicate of [false, true]) {
    const answer = await post({ orderId: 7 })
    assert.deepEqual([answer.status, await answer.json()], [202, { messageId: 'order-7', duplicate }])
  }
  assert.equal((await post({})).status, 400)
  await line(start(['worker.ts']), /order 7/)
  process.exitCode = 0
} finally {
  for (const child of started) {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

function start(args: string[]): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  return child
}

async function line(child: ChildProcess, pattern: RegExp): Promise<RegExpMatchArray> {
  let output = ''
  for await (const chunk of child.stdout ?? []) {
    output += chunk
    const found = output.match(pattern)
    if (found) return found
  }
  throw new Error(`It ended without ${pattern}:\n${output}`)
}
