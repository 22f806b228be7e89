/** Runs the built file in a folder without node_modules, visits it and stops it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'vite-server-'))
cpSync('dist', join(folder, 'dist'), { recursive: true })
const options = { cwd: folder, env: { ...process.env, PORT: '0' } }
const server = spawn(process.execPath, ['dist/server.js'], { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
let output = ''
server.stdout.on('data', chunk => {
  output += chunk
})
const until = async (pattern: RegExp): Promise<string> => {
  for (;;) {
    const found = output.match(pattern)
    if (found) return found[0]
    if (server.exitCode !== null) throw new Error(`The server ended without ${pattern}:\n${output}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
const url = await until(/http:\/\/127\.0\.0\.1:\d+/)
assert.equal((await fetch(`${url}/hello`)).status, 202)
await until(/visit of \/hello/)
server.kill('SIGTERM')
const [code] = await once(server, 'exit')
assert.equal(code, 0)
assert.match(output, /stopped/)
