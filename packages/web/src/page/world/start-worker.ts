/** The name of the worker's file, which contains a hash; inserted by the bundler. */
declare const WORKER_FILE: string

type Policy = { createScriptURL(url: string): string }
type Factory = { createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy }

/** The page's only policy: with Trusted Types no other address can become a script. */
const policy: Policy = (globalThis as { trustedTypes?: Factory }).trustedTypes?.createPolicy('tidemark', {
  createScriptURL: url => url,
}) ?? { createScriptURL: url => url }

export const startWorker = (): Worker =>
  new Worker(policy.createScriptURL(`/assets/${WORKER_FILE}`), { type: 'module' })
