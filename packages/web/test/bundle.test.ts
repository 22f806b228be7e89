import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { until } from '../../../testing/until.ts'
import { bundlePage } from '../src/bundle.ts'

test('leaves no process of esbuild behind, and bundles for two servers at once', {
  skip: process.platform !== 'linux' && 'the children of a process are read from /proc',
}, async () => {
  const [one, other] = await Promise.all([bundlePage(), bundlePage({ minify: false })])
  assert.ok(one.shell.includes('<script') && other.shell.includes('<script'))
  await until(() => bundlersOf(process.pid).length === 0, { what: 'the process of esbuild to end' })
})

function bundlersOf(pid: number): string[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean),
  )
  return children.map(child => readFileSync(`/proc/${child}/comm`, 'utf8').trim()).filter(name => name === 'esbuild')
}
