import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'

function tidemark(...args) {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/tidemark', args, { encoding: 'utf8' })
  assert.equal(status, 0, `tidemark ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

for (const url of ['sqlite:./app.db', process.env.TIDEMARK_TEST_POSTGRES_URL]) {
  tidemark('migrate', '--database', url)
  tidemark('topics', 'configure', 'orders', '--database', url)
  tidemark('publish', 'orders', '{"orderId":7}', '--database', url)
  assert.match(tidemark('topics', 'list', '--database', url), /orders/)
}
tidemark('start', '--ticks', '50', '--no-server')
assert.match(tidemark('runs'), /50/)
const { PORT = '34656' } = process.env
tidemark('start', '--ticks', '10', '--new', '--port', PORT)
