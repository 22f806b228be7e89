/**
 * node probe.js live|ready: exits with 0 if the server of this container is, and otherwise says what it lacks and exits
 * with 1. A probe of Kubernetes can't take the token of a header from a secret; this one takes it from the environment.
 */
const what = process.argv[2] ?? 'ready'
const port = process.env.TIDEMARK_PORT ?? '4680'
const token = process.env.TIDEMARK_METRICS_TOKEN ?? process.env.TIDEMARK_ADMIN_TOKEN
const headers = token ? { authorization: `Bearer ${token}` } : {}

try {
  const answer = await fetch(`http://127.0.0.1:${port}/health/${what}`, { headers, signal: AbortSignal.timeout(5500) })
  if (!answer.ok) fail(`${answer.status}: ${await answer.text()}`)
} catch (error) {
  fail(`no answer from port ${port}: ${error.cause?.message ?? error.message}`)
}

function fail(reason) {
  console.error(reason)
  process.exit(1)
}
