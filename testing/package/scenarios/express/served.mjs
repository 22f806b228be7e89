// Starts the server, asks it once, and compares the answer.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

const [port, path, command, ...args] = process.argv.slice(2)
const server = spawn(command, args, { stdio: 'inherit', env: { ...process.env, PORT: port } })
try {
  const answer = await firstAnswer(`http://127.0.0.1:${port}${path}`)
  assert.deepEqual(answer, [{ orderId: 7 }, { orderId: 7 }])
} finally {
  server.kill('SIGTERM')
}

async function firstAnswer(url) {
  for (let attempt = 0; ; attempt++) {
    try {
      const response = await fetch(url)
      assert.equal(response.status, 200, await response.clone().text())
      return await response.json()
    } catch (error) {
      if (error instanceof assert.AssertionError || attempt > 300 || server.exitCode !== null) throw error
      await delay(100)
    }
  }
}
