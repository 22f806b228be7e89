import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AUDIT_KINDS, type AuditEntry, type AuditQuery, OUTCOMES, searchAudit } from '@tidemark/server'
import type { Surroundings } from '../command.ts'
import { NotFoundError, RefusedError, UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { plainText } from '../output/plain-text.ts'
import { table } from '../output/table.ts'
import { dataFolderOf } from '../runs/data-folder.ts'

export async function showAudit(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const { output } = surroundings
  const query = queryOf(given)
  const server = given.text('server')
  const entries = server === undefined ? await ofFile(given, query) : await ofServer(server, query, surroundings)
  output.result({ entries }, () => table(['at', 'who', 'from', 'what', 'outcome'], entries.map(row)))
  return EXIT.done
}

function queryOf(given: Given): AuditQuery {
  return {
    ...present({
      kind: given.oneOf('kind', AUDIT_KINDS),
      outcome: given.oneOf('outcome', OUTCOMES),
      who: given.text('who'),
      action: given.text('action'),
      topic: given.text('topic'),
      since: sinceOf(given.text('since')),
    }),
    limit: given.whole('limit', { max: 1_000 }) ?? 100,
  }
}

function sinceOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (/^\d{4}-/.test(text) && !Number.isNaN(time.getTime())) return time
  throw new UsageError(`--since must be a time such as 2026-05-01T12:00:00Z, not '${text}'`)
}

async function ofFile(given: Given, query: AuditQuery): Promise<readonly AuditEntry[]> {
  const file = given.text('file') ?? join(dataFolderOf(given), 'audit.jsonl')
  if (!existsSync(file)) throw new NotFoundError(`There is no audit file ${file}. Give --file, --data or --server`)
  return await searchAudit(file, query)
}

async function ofServer(
  server: string,
  query: AuditQuery,
  { environment, interrupted }: Surroundings,
): Promise<readonly AuditEntry[]> {
  const base = URL.parse(server)
  if (base === null || !/^https?:$/.test(base.protocol)) {
    throw new UsageError(`--server must be an address such as http://127.0.0.1:4680, not '${server}'`)
  }
  const url = new URL('/api/v1/audit', base)
  for (const [name, value] of Object.entries(query)) {
    url.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  const token = environment.TIDEMARK_ADMIN_TOKEN
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const answer = await fetch(url, { headers, signal: interrupted, redirect: 'error' }).catch((error: Error) => {
    throw new RefusedError(`The server at ${base.origin} does not answer (${reasonOf(error)})`, error)
  })
  const body = (await answer.json().catch(() => ({}))) as { entries?: AuditEntry[]; detail?: string }
  if (answer.ok && body.entries) return body.entries
  throw new RefusedError(`The server answered ${answer.status}: ${plainText(body.detail ?? 'no reason given')}`)
}

const reasonOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message : message)

/** Names and paths come from the client. */
const row = ({ at, who, from, action, method, path, status, code, outcome, count }: AuditEntry): string[] => [
  at,
  plainText(who ?? '-'),
  plainText(from),
  plainText(`${action ?? '-'} ${method ?? ''} ${path ?? ''}`.trim()),
  [outcome, status ?? '', plainText(code ?? ''), count > 1 ? `×${count}` : ''].filter(text => text !== '').join(' '),
]
