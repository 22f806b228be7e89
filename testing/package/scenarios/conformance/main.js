import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'

const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', 'engine.js'], {
  encoding: 'utf8',
})
assert.equal(status, 0, stdout)
assert.match(stdout, /# SKIP install fast-check to run it/)
assert.match(stdout, /# SKIP install @bufbuild\/protobuf to run it/)
assert.match(stdout, /# SKIP the database has no hook 'expireLeases'/)
assert.match(stdout, /come back in a few pages/)
