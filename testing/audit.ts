/**
 * npm run audit: known vulnerabilities of what the published packages depend on.
 *
 * 0: none. 1: some, listed. 3: no registry answered, so nothing is known; npm itself fails in the same way for both.
 */
import { spawnSync } from 'node:child_process'

type Report = {
  readonly vulnerabilities?: { readonly [name: string]: { readonly severity: string; readonly range: string } }
  readonly message?: string
  readonly error?: { readonly summary?: string; readonly detail?: string }
}

const NOT_ASKED = 3

const { stdout, stderr } = spawnSync('npm', ['audit', '--json', '--omit=dev'], { encoding: 'utf8' })
const { vulnerabilities, message, error } = reportOf(stdout)
if (vulnerabilities === undefined) {
  const reason = [message, error?.summary, error?.detail].find(Boolean) ?? stderr.trim().split('\n').at(-1) ?? ''
  console.error(`No registry answered the audit, so nothing is known: ${reason}`)
  console.error('Run it where the registry of your .npmrc serves audits.')
  process.exitCode = NOT_ASKED
} else {
  const found = Object.entries(vulnerabilities)
  for (const [name, { severity, range }] of found) console.log(`${severity}  ${name}  ${range}`)
  console.log(found.length === 0 ? 'No known vulnerabilities.' : `${found.length} vulnerable packages.`)
  process.exitCode = found.length === 0 ? 0 : 1
}

function reportOf(text: string): Report {
  try {
    return JSON.parse(text) as Report
  } catch {
    return {} // It said nothing that is JSON.
  }
}
