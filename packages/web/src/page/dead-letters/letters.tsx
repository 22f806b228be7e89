import { useSignal } from '@preact/signals'
import { count, whole } from '../format.ts'
import { at, getText, write } from '../http.ts'
import { parseExact } from '../messages/exact-json.ts'
import { useLoaded } from '../parts/load.ts'
import { Failed, Loading } from '../parts/states.tsx'
import { may } from '../session.ts'
import { LetterActions } from './letter-actions.tsx'
import { LetterItem } from './letter-item.tsx'
import type { DryRun, ErrorKind, Letter, LetterFilter } from './letter-shapes.ts'

const PAGE = 50

type Page = { readonly deadLetters: readonly Letter[]; readonly next: number | null }

/** The letters of one kind of error: some of them can be selected, or all that match. */
export function Letters({
  kind,
  filter,
  isNarrowed,
  reload,
}: {
  kind: ErrorKind
  filter: LetterFilter
  isNarrowed: boolean
  reload(): void
}) {
  const { topic, group } = kind
  const after = useSignal<number | undefined>(undefined)
  const selected = useSignal<ReadonlySet<number>>(new Set())
  const isAll = useSignal(false)
  const place = `${at('topics', topic)}/dead-letters`
  const loaded = useLoaded(
    async signal => {
      const query = { ...filter, ids: undefined, limit: PAGE, after: after.value }
      const [page, matching] = await Promise.all([
        getText(place, { signal, query }).then(text => parseExact<Page>(text)),
        // Only a narrower filter has to be counted: the number of its kind is known.
        isNarrowed ? countMatching(place, filter, signal) : kind.count,
      ])
      return { ...page, matching: matching ?? page.deadLetters.length }
    },
    [topic, JSON.stringify(filter), after.value, kind.count],
  )
  if (loaded.error.value !== undefined) return <Failed error={loaded.error.value} retry={loaded.reload} />
  const found = loaded.value.value
  if (found === undefined) return <Loading rows={4} />
  const letters = found.deadLetters
  const shownIds = letters.map(({ id }) => id)
  const areShownSelected = shownIds.length > 0 && shownIds.every(id => selected.value.has(id))
  const done = (): void => {
    selected.value = new Set()
    isAll.value = false
    loaded.reload()
    reload()
  }
  const choose = (ids: readonly number[], isChosen: boolean): void => {
    const next = new Set(selected.value)
    for (const id of ids) isChosen ? next.add(id) : next.delete(id)
    selected.value = next
    isAll.value = false
  }
  const matching = isAll.value ? found.matching : selected.value.size
  return (
    <div class="letters">
      <div class="row spread letters-head">
        <span class="row">
          <label class="row">
            <input
              type="checkbox"
              checked={isAll.value || areShownSelected}
              onChange={event => choose(shownIds, event.currentTarget.checked)}
            />
            {isAll.value
              ? `All ${whole(found.matching)} that match are selected`
              : selected.value.size > 0
                ? `${whole(selected.value.size)} selected`
                : `${count(letters.length)} of ${count(found.matching)} shown`}
          </label>
          {!isAll.value && found.matching > 0 && (
            <button
              type="button"
              class="plain link-like"
              onClick={() => {
                isAll.value = true
              }}
            >
              Select all {whole(found.matching)} that match
            </button>
          )}
        </span>
        {matching > 0 && (
          <span class="row">
            <LetterActions
              topic={topic}
              group={group}
              filter={isAll.value ? filter : { ids: [...selected.value], ...(group !== '' && { group }) }}
              matching={matching}
              what={`${whole(matching)} selected`}
              done={done}
            />
          </span>
        )}
      </div>
      {letters.length === 0 ? (
        <p class="muted">None of the {count(kind.count)} matches the key and the time above.</p>
      ) : (
        <ul>
          {letters.map(letter => (
            <LetterItem
              key={letter.id}
              topic={topic}
              letter={letter}
              isSelected={isAll.value || selected.value.has(letter.id)}
              select={isSelected => choose([letter.id], isSelected)}
              done={done}
            />
          ))}
        </ul>
      )}
      <div class="row">
        {after.value !== undefined && (
          <button
            type="button"
            onClick={() => {
              after.value = undefined
            }}
          >
            Oldest
          </button>
        )}
        {found.next !== null && (
          <button
            type="button"
            onClick={() => {
              after.value = found.next ?? undefined
            }}
          >
            Newer
          </button>
        )}
      </div>
    </div>
  )
}

/** Only who may act can ask for a dry run; others see how many are shown. */
async function countMatching(place: string, filter: LetterFilter, signal: AbortSignal): Promise<number | undefined> {
  if (!may('operate')) return undefined
  const { matching } = await write<DryRun>('POST', `${place}/discard`, { ...filter, dryRun: true }, { signal })
  return matching
}
