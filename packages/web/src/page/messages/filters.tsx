import { useSignal } from '@preact/signals'
import { pushQuery } from '../address.ts'
import type { Filter } from './filter.ts'

export function Filters({ filter, types }: { filter: Filter; types: readonly string[] }) {
  const id = useSignal('')
  const change = (name: string) => (event: { currentTarget: HTMLInputElement | HTMLSelectElement }) =>
    pushQuery({ [name]: event.currentTarget.value, from: null })
  const isFiltered = filter.key !== null || filter.type !== null || filter.since !== null || filter.from !== null
  const choices = [...new Set([...types, ...(filter.type === null ? [] : [filter.type])])]
  return (
    <form
      class="row filters message-filters"
      aria-label="Filter messages"
      onSubmit={event => {
        event.preventDefault()
        const wanted = id.value.trim()
        if (/^\d{1,15}$/.test(wanted)) pushQuery({ m: wanted, from: fromOf(filter.order, Number(wanted)) })
      }}
    >
      <select aria-label="Order" value={filter.order} onChange={change('order')}>
        <option value="newest">newest first</option>
        <option value="oldest">oldest first</option>
      </select>
      <label class="row filter-key">
        <span class="muted">key</span>
        <input
          type="search"
          class="mono"
          placeholder="any"
          spellcheck={false}
          value={filter.key ?? ''}
          onChange={change('key')}
        />
      </label>
      <label class="row">
        <span class="muted">type</span>
        <select value={filter.type ?? ''} onChange={change('type')}>
          <option value="">any type</option>
          {choices.map(type => (
            <option key={type} value={type}>
              {type}
            </option>
          ))}
        </select>
      </label>
      <label class="row filter-since">
        <span class="muted">since</span>
        <input type="datetime-local" step="1" value={filter.since ?? ''} onChange={change('since')} />
      </label>
      <label class="row">
        <span class="muted">id</span>
        <input
          type="search"
          class="mono short"
          inputMode="numeric"
          placeholder="go to id"
          value={id.value}
          onInput={event => {
            id.value = event.currentTarget.value
          }}
        />
      </label>
      {isFiltered && (
        <button
          type="button"
          class="plain"
          onClick={() => pushQuery({ key: null, type: null, since: null, from: null })}
        >
          Clear
        </button>
      )}
    </form>
  )
}

/** The page that begins with this message, in either order. */
const fromOf = (order: Filter['order'], id: number): string => String(order === 'newest' ? id + 1 : Math.max(0, id - 1))
