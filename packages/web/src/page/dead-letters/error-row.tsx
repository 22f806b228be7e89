import { pushQuery, query, replaceQuery } from '../address.ts'
import { count, whole } from '../format.ts'
import { Age } from '../parts/age.tsx'
import { Mark } from '../parts/mark.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import { LetterActions } from './letter-actions.tsx'
import type { ErrorKind, LetterFilter } from './letter-shapes.ts'
import { Letters } from './letters.tsx'

/** One kind of error. Opened, it shows its letters; its buttons act on all that match. */
export function ErrorRow({ kind, isOpen, reload }: { kind: ErrorKind; isOpen: boolean; reload(): void }) {
  const { topic, group, fingerprint, error, lastAt, perMinute } = kind
  const filter = filterOf(kind)
  const place = group === '' ? topic : `${topic}/${group}`
  const isNarrowed = filter.key !== undefined || filter.since !== undefined
  const toggle = (): void => {
    if (isOpen) replaceQuery({ error: null })
    else pushQuery({ error: fingerprint })
  }
  return (
    <li class="panel error-kind" data-row>
      <div class="error-line">
        <button type="button" class="plain error-name" aria-expanded={isOpen} onClick={toggle}>
          <span class="twist" aria-hidden="true">
            {isOpen ? '▾' : '▸'}
          </span>
          <Mark kind="bad" word="failed for good" />
          <span class="error-words">{error}</span>
        </button>
        <span class="muted truncate error-place" title={place}>
          {place}
        </span>
        <span class="error-spark">
          <Sparkline
            values={perMinute}
            says={`${whole(kind.count)} in all; per minute, the last ${perMinute.length} minutes`}
          />
        </span>
        <strong class="number" title={whole(kind.count)}>
          {count(kind.count)}
        </strong>
        <span class="muted small error-last">
          last <Age at={lastAt} />
        </span>
        {!isNarrowed && (
          <span class="row error-actions">
            <LetterActions
              topic={topic}
              group={group}
              filter={filter}
              matching={kind.count}
              what={`${whole(kind.count)} of ${place} with ${error}`}
              done={reload}
            />
          </span>
        )}
      </div>
      {isOpen && <Letters kind={kind} filter={filter} isNarrowed={isNarrowed} reload={reload} />}
    </li>
  )
}

function filterOf({ group, fingerprint }: ErrorKind): LetterFilter {
  const key = query.value.get('key')
  const since = query.value.get('since')
  return {
    fingerprint,
    ...(group !== '' && { group }),
    ...(key && { key }),
    ...(since && !Number.isNaN(Date.parse(since)) && { since: new Date(since).toISOString() }),
  }
}
