import { Type } from 'typebox'

/** Details that a reader of the events asks for. */
export type Detail = { readonly topics: readonly string[]; readonly runs: readonly string[] }

export const NO_DETAIL: Detail = { topics: [], runs: [] }

const EACH = '(topic:[A-Za-z0-9][A-Za-z0-9._-]{0,127}|run:[0-9a-f-]{54})'
/** Maximum number; each costs its own queries every second. */
const MOST = 8

export const DetailGiven = Type.String({
  pattern: `^${EACH}(,${EACH}){0,${MOST - 1}}$`,
  description: `Topics and runs to report in detail, at most ${MOST}: topic:<topic> or run:<run>, separated by commas.`,
  examples: ['topic:orders'],
})

export function detailOf(text: string | undefined): Detail {
  if (text === undefined) return NO_DETAIL
  const named = (kind: string): string[] => [
    ...new Set(text.split(',').flatMap(each => (each.startsWith(`${kind}:`) ? [each.slice(kind.length + 1)] : []))),
  ]
  return { topics: named('topic'), runs: named('run') }
}
