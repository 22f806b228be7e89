import { type ReadonlySignal, useSignal } from '@preact/signals'
import { count } from '../format.ts'
import { ScrollBox } from '../parts/scroll-box.tsx'
import { isDark } from './dark.ts'
import { Swatch } from './legend.tsx'
import type { Lineages } from './lineages.ts'
import type { Organism } from './organism.ts'
import { OrganismCard } from './organism-card.tsx'
import { found, SORTS, type Sort, sorted } from './organism-table.ts'
import { slotColourText } from './palette.ts'
import type { RunState } from './run-state.ts'
import { select } from './selection.ts'

type Props = {
  run: RunState
  organisms: ReadonlySignal<readonly Organism[]>
  isKnown: boolean
  lineages: Lineages
  selected: ReadonlySignal<number | undefined>
  isFollowing: { value: boolean }
}

const SHOWN = 200

export function OrganismsPanel({ run, organisms, isKnown, lineages, selected, isFollowing }: Props) {
  const words = useSignal('')
  const sort = useSignal<Sort>({ by: 'energy', isUp: false })
  const matching = sorted(found(organisms.value, words.value), sort.value)
  return (
    <aside class="organisms panel" aria-label="Organisms">
      <div class="row spread">
        <h2>Organisms {isKnown && <span class="muted">{count(organisms.value.length)}</span>}</h2>
        <input
          type="search"
          placeholder="#77 or lineage 4"
          aria-label="Find organisms by id or lineage"
          value={words.value}
          onInput={event => {
            words.value = event.currentTarget.value
          }}
        />
      </div>
      {selected.value !== undefined && (
        <OrganismCard
          key={selected.value}
          run={run}
          id={selected.value}
          organisms={organisms}
          lineages={lineages}
          isFollowing={isFollowing}
        />
      )}
      <div class="organism-list">
        <ScrollBox label="Organisms of this tick">
          <table>
            <thead>
              <tr>
                {SORTS.map(({ by, title, isNumber }) => (
                  <th
                    key={by}
                    scope="col"
                    class={isNumber ? 'number' : ''}
                    aria-sort={sort.value.by === by ? (sort.value.isUp ? 'ascending' : 'descending') : 'none'}
                  >
                    <button
                      type="button"
                      class="plain"
                      onClick={() => {
                        sort.value = { by, isUp: sort.value.by === by ? !sort.value.isUp : by === 'id' }
                      }}
                    >
                      {title}
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {matching.slice(0, SHOWN).map(({ id, lineage, energy, birthTick }) => (
                <tr key={id} class="link" aria-selected={id === selected.value} onClick={() => select(id)}>
                  <td>
                    <button type="button" class="plain mono" onClick={() => select(id)}>
                      #{id}
                    </button>
                  </td>
                  <td>
                    <span class="row">
                      <Swatch colour={slotColourText(lineages.slotOf(lineage), isDark())} />
                      {lineage}
                    </span>
                  </td>
                  <td class="number">{count(energy)}</td>
                  <td class="number">{count(Math.max(0, run.shown.value - birthTick))}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {matching.length > SHOWN && (
            <p class="muted small">
              {SHOWN} of {count(matching.length)}. Search finds the others.
            </p>
          )}
          {matching.length === 0 && organisms.value.length > 0 && (
            <p class="muted small">None of the {count(organisms.value.length)} alive at this tick matches.</p>
          )}
        </ScrollBox>
      </div>
    </aside>
  )
}
