#!/usr/bin/env node
/** The process: `tidemark …`. */
import { run } from './cli.ts'
import { EXIT } from './exit-codes.ts'
import { Output } from './output/output.ts'
import { onUnread } from './output/unread.ts'
import { beginWithLeanAllocator } from './start/lean-allocator.ts'

/**
 * npm forwards a Ctrl-C to a process that has already received it; only a later one means that somebody will not wait.
 */
const SAME_SIGNAL_MS = 1_000

const { stdout, stderr, env: environment } = process
const words = process.argv.slice(2)
if (words[0] === 'start') beginWithLeanAllocator()

const interrupted = new AbortController()
const output = new Output({ json: words.includes('--json'), stdout, stderr, environment })
let endsItself = false
let interruptedAt = Number.POSITIVE_INFINITY
let isUnread = false

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    const isAgain = performance.now() - interruptedAt > SAME_SIGNAL_MS
    interruptedAt = Math.min(interruptedAt, performance.now())
    interrupted.abort()
    // The database rolls back or completes what was in progress.
    if (!endsItself || isAgain) process.exit(EXIT.interrupted)
  })
}

// `tidemark tail orders | head`: the reader has had enough.
function endUnread(): void {
  isUnread = true
  interrupted.abort()
  if (!endsItself) process.exit(EXIT.done)
}
for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    endUnread()
  })
}

const code = await run(words, { output, environment, interrupted: interrupted.signal }, command => {
  endsItself = command.endsItself === true
  // Others write what they have and exit anyway.
  if (endsItself && !command.outlivesReader) onUnread(stdout.fd, endUnread)
})
process.exitCode = isUnread ? EXIT.done : code
