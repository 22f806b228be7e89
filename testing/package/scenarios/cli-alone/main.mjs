import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'

const tidemark = (...args) => spawnSync('node_modules/.bin/tidemark', args, { encoding: 'utf8' })

const database = ['--database', 'sqlite:./app.db']
assert.equal(tidemark('migrate', ...database).status, 0)
assert.equal(tidemark('topics', 'configure', 'orders', ...database).status, 0)
assert.equal(tidemark('publish', 'orders', '{"orderId":7}', ...database).status, 0)
const { status, stderr } = tidemark('start')
assert.equal(status, 1)
assert.match(stderr, /npm install @tidemark\/server/)
assert.match(tidemark('migrate', '--database', 'postgres://127.0.0.1:1/none').stderr, /npm install pg@/)
