import type { Row } from './row.ts'
import type { Session } from './session.ts'
import { serverLimit } from './statement-limits.ts'

/** How long a process that disappears in the middle of a transaction can keep its locks. */
const LEFT_OPEN_MS = 60_000

const ISOLATION = "set default_transaction_isolation = 'read committed'"

/** Whether the connection has the settings that `applySettings` would apply. */
export const hasSettings = (session: Session, keepsSessions: boolean, statementTimeoutMs: number): boolean =>
  session.settings === settingsFor(session, keepsSessions, statementTimeoutMs)

/**
 * The server's defaults may differ, but a claim is only correct if each of its statements sees what has committed.
 * Limits are set only if they stay with this connection; behind a pooler they would affect other programs.
 */
export async function applySettings(
  session: Session,
  keepsSessions: boolean,
  statementTimeoutMs: number,
): Promise<void> {
  const settings = settingsFor(session, keepsSessions, statementTimeoutMs)
  const answers = await session.several(settings)
  // A lower limit that an administrator set for the user or the database stays.
  if (keepsSessions && isLower(shownIn(answers), serverLimit(session.limitMs)))
    await session.exec('reset statement_timeout')
  session.settings = settings
}

const settingsFor = ({ limitMs }: Session, keepsSessions: boolean, statementTimeoutMs: number): string =>
  keepsSessions ? limitsOf(limitMs, statementTimeoutMs) : ISOLATION

/** `show` instead of pg_settings, which costs the server a millisecond for each connection of a starting program. */
function limitsOf(limitMs: number, statementTimeoutMs: number): string {
  if (limitMs !== last.limitMs || statementTimeoutMs !== last.statementTimeoutMs)
    last = { limitMs, statementTimeoutMs, text: limitsText(limitMs, statementTimeoutMs) }
  return last.text
}

/** Every statement asks for it. */
let last = { limitMs: -1, statementTimeoutMs: -1, text: '' }

const limitsText = (limitMs: number, statementTimeoutMs: number): string => `${ISOLATION};
  set idle_in_transaction_session_timeout = ${Math.max(LEFT_OPEN_MS, 2 * statementTimeoutMs)};
  set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3;
  reset statement_timeout; show statement_timeout; set statement_timeout = ${serverLimit(limitMs)}`

const shownIn = (answers: readonly Row[][]): string =>
  answers.flat().find(row => 'statement_timeout' in row)?.statement_timeout ?? ''

const UNITS_MS = new Map(Object.entries({ ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 }))

/** In the server's format: '0' for none, otherwise in the largest unit that gives a whole number. */
function isLower(shown: string, limitMs: number): boolean {
  const [, count, unit] = /^(\d+)(ms|s|min|h|d)$/.exec(shown) ?? []
  return count !== undefined && Number(count) * (UNITS_MS.get(unit ?? '') ?? 1) < limitMs
}
