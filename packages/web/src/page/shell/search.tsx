import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { goTo, path } from '../address.ts'
import { get } from '../http.ts'
import { addCommands } from '../keys.ts'
import { overview } from '../live.ts'
import type { RunFacts } from '../world/run-shapes.ts'
import { ICONS } from './icons.tsx'
import { type Result, searchResults } from './search-results.ts'

const KINDS: { readonly [kind in Result['kind']]: string } = {
  topic: 'Topics',
  group: 'Groups',
  service: 'Services',
  run: 'Worlds',
  key: 'Messages with the key',
}

/** Finds topics, groups, services, runs and keys. On a phone it opens over the top line. */
export function Search() {
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  const words = useSignal('')
  const isOpen = useSignal(false)
  const chosen = useSignal(0)
  const runs = useSignal<readonly RunFacts[]>([])
  const results = useComputed(() => {
    const found = overview.value
    return found === undefined ? [] : searchResults(words.value, found, runs.value, topicOf(path.value))
  })
  useEffect(() => addCommands('Everywhere', { '/': ['Search', () => open()] }), [])
  // On a phone the field is not shown before.
  const open = (): void => {
    isOpen.value = true
  }
  useLayoutEffect(() => {
    if (isOpen.value) field.current?.focus()
  }, [isOpen.value])
  const close = (): void => {
    isOpen.value = false
    field.current?.blur()
  }
  const follow = (result: Result | undefined): void => {
    if (result === undefined) return
    words.value = ''
    close()
    goTo(result.href)
  }
  const loadRuns = (): void => {
    isOpen.value = true
    // Without a newest run there is none to find, or this server shows no runs.
    if (overview.peek()?.newestRun == null) return
    get<{ runs: readonly RunFacts[] }>('/runs', { query: { facts: true, order: 'newest', limit: 100 } }).then(
      found => {
        runs.value = found.runs
      },
      // A server without runs has none to find.
      () => undefined,
    )
  }
  const press = (event: KeyboardEvent): void => {
    const count = results.value.length
    if (event.key === 'Escape') close()
    else if (event.key === 'Enter') follow(results.value[chosen.value])
    else if (event.key === 'ArrowDown' && count > 0) chosen.value = (chosen.value + 1) % count
    else if (event.key === 'ArrowUp' && count > 0) chosen.value = (chosen.value + count - 1) % count
    else return
    event.preventDefault()
  }
  const isListed = isOpen.value && words.value.trim() !== ''
  return (
    <search class={isOpen.value ? 'search open' : 'search'}>
      <button type="button" class="plain search-button" aria-label="Search" onClick={open}>
        {ICONS.search}
      </button>
      <input
        ref={field}
        type="text"
        enterKeyHint="search"
        role="combobox"
        placeholder="Search  /"
        aria-label="Search topics, groups, services, runs and keys"
        aria-expanded={isListed}
        aria-controls={`${id}-results`}
        aria-activedescendant={isListed && results.value.length > 0 ? `${id}-${chosen.value}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={words.value}
        onFocus={loadRuns}
        onBlur={event => {
          if (!(event.relatedTarget instanceof Element && event.relatedTarget.closest('.search'))) isOpen.value = false
        }}
        onInput={event => {
          words.value = event.currentTarget.value
          chosen.value = 0
        }}
        onKeyDown={press}
      />
      {isListed && (
        <div id={`${id}-results`} class="search-results" role="listbox" aria-label="Results">
          {results.value.length === 0 && <p class="muted">Nothing is called “{words}”.</p>}
          {hasMoreGroups() && <p class="muted small">Topics with many groups list theirs on their own page.</p>}
          {results.value.map((result, index) => (
            <Option
              key={result.href}
              id={`${id}-${index}`}
              result={result}
              isFirst={results.value[index - 1]?.kind !== result.kind}
              isChosen={index === chosen.value}
              follow={() => follow(result)}
            />
          ))}
        </div>
      )}
    </search>
  )
}

function Option({
  id,
  result: { kind, name, of },
  isFirst,
  isChosen,
  follow,
}: {
  id: string
  result: Result
  isFirst: boolean
  isChosen: boolean
  follow(): void
}) {
  return (
    <>
      {isFirst && (
        <h3 class="search-kind" role="presentation">
          {KINDS[kind]}
        </h3>
      )}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the chosen one (aria-activedescendant) */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field */}
      <div
        id={id}
        class="search-result"
        role="option"
        aria-selected={isChosen}
        // The field must not lose the focus before the click arrives.
        onPointerDown={event => event.preventDefault()}
        onClick={follow}
      >
        <span class="truncate">{name}</span>
        {of !== undefined && <span class="muted small truncate">{of}</span>}
      </div>
    </>
  )
}

/** With very many groups the overview has only some of them. */
const hasMoreGroups = (): boolean =>
  overview.value?.topics.some(({ groups, totals }) => groups.length < totals.groups) === true

const topicOf = (place: string): string | undefined => {
  const [, topic] = /^\/topics\/([^/]+)/.exec(place) ?? []
  return topic === undefined ? undefined : decodeURIComponent(topic)
}
