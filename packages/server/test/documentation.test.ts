import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../testing/databases.ts'
import { spawnScript } from '../../../testing/processes.ts'
// Inside: the table of limits that the page has to show.
import { LIMITS } from '../src/limits.ts'

const ROOT = new URL('../../../', import.meta.url)
const page = readFileSync(new URL('docs/reference/http.md', ROOT), 'utf8')
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text)

describe('docs/reference/http.md', () => {
  it('shows a program that runs, and commands that work against it', async () => {
    const program = new URL('examples/http-server.ts', ROOT)
    assert.equal(blocks('ts')[0], readFileSync(program, 'utf8'))
    using folder = temporaryFolder()
    await using script = spawnScript(program, [], {
      env: { DATABASE: `sqlite:${join(folder.path, 'app.db')}`, PORT: '0' },
    })
    const [url = ''] = /http:\S+/.exec(await script.waitForLine(/^Tidemark at/)) ?? []
    const shell = spawn('bash', ['-euo', 'pipefail', '-c', blocks('sh').join('\n')], {
      env: { ...process.env, URL: url },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [shell.stdout, shell.stderr]) stream.on('data', chunk => (output += chunk))
    const [code] = await once(shell, 'close')
    assert.equal(code, 0, output)
    const { groups } = (await (await fetch(`${url}/api/v1/topics/orders/groups`)).json()) as {
      groups: Record<string, unknown>[]
    }
    assert.deepEqual([groups[0]?.group, groups[0]?.inFlight, groups[0]?.retries], ['email', 0, 1])
    script.kill('SIGTERM')
    assert.deepEqual(await script.exited, { code: 0, signal: null })
  })

  it('names every limit', () => {
    for (const name of Object.keys(LIMITS)) assert.ok(page.includes(`\`${name}\``), name)
  })
})
