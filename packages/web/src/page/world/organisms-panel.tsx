import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { replaceQuery } from '../address.ts'
import { count, whole } from '../format.ts'
import { Sparkline, trend } from '../parts/sparkline.tsx'
import { Failed } from '../parts/states.tsx'
import type { Lineages } from './lineages.ts'
import type { Moment, Organism, OrganismFacts } from './organism.ts'
import { factsOf, familyOf, lifeOf } from './organisms.ts'
import { LINEAGE_COLOURS, OTHERS_SLOT } from './palette.ts'
import type { RunState } from './run-state.ts'

type Props = {
  run: RunState
  organisms: ReadonlySignal<readonly Organism[]>
  lineages: Lineages
  selected: ReadonlySignal<number | undefined>
}

const SHOWN = 200

export function OrganismsPanel({ run, organisms, lineages, selected }: Props) {
  const words = useSignal('')
  const found = organisms.value
    .filter(
      ({ id, lineage }) => words.value === '' || String(id) === words.value || `lineage ${lineage}` === words.value,
    )
    .toSorted((one, other) => other.energy - one.energy)
  return (
    <aside class="organisms panel" aria-label="Organisms">
      <div class="row spread">
        <h2>Organisms {count(organisms.value.length)}</h2>
        <input
          type="search"
          placeholder="id"
          aria-label="Find an organism by id"
          value={words.value}
          onInput={event => {
            words.value = event.currentTarget.value.replace(/^#/, '')
          }}
        />
      </div>
      {selected.value !== undefined && (
        <OrganismCard key={selected.value} run={run} id={selected.value} organisms={organisms} />
      )}
      <ul class="lineages row small" aria-label="Largest lineages">
        {lineages.sizes.map(({ lineage, alive, slot }) => (
          <li key={lineage} class="row" title={`Lineage ${lineage}: ${whole(alive)} alive`}>
            <Swatch slot={slot} />
            {lineage} <span class="muted">{count(alive)}</span>
          </li>
        ))}
      </ul>
      <div class="organism-list scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Id</th>
              <th scope="col">Lineage</th>
              <th scope="col" class="number">
                Energy
              </th>
              <th scope="col" class="number">
                Age
              </th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, SHOWN).map(({ id, lineage, energy, birthTick }) => (
              <tr
                key={id}
                class="link"
                aria-selected={id === selected.value}
                onClick={() => replaceQuery({ o: String(id) })}
              >
                <td>
                  <button type="button" class="plain mono" onClick={() => replaceQuery({ o: String(id) })}>
                    #{id}
                  </button>
                </td>
                <td>
                  <span class="row">
                    <Swatch slot={lineages.slotOf(lineage)} />
                    {lineage}
                  </span>
                </td>
                <td class="number">{count(energy)}</td>
                <td class="number">{count(run.shown.value - birthTick)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {found.length > SHOWN && <p class="muted small">The {SHOWN} with the most energy. Search finds the others.</p>}
      </div>
    </aside>
  )
}

function Swatch({ slot }: { slot: number }) {
  const colour = slot === 0 || slot === OTHERS_SLOT ? '#8a93a0' : LINEAGE_COLOURS[slot - 1]
  return (
    <svg width="10" height="10" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={colour} />
    </svg>
  )
}

/** One organism: its properties, its energy over time, and its family. */
function OrganismCard({
  run,
  id,
  organisms,
}: {
  run: RunState
  id: number
  organisms: ReadonlySignal<readonly Organism[]>
}) {
  const facts = useSignal<OrganismFacts | undefined>(undefined)
  const life = useSignal<readonly Moment[]>([])
  const children = useSignal<readonly OrganismFacts[]>([])
  const error = useSignal<unknown>(undefined)
  const load = (): void => {
    error.value = undefined
    Promise.all([factsOf(run.runId, id), lifeOf(run.runId, id), familyOf(run.runId, id)]).then(
      ([found, moments, family]) => {
        facts.value = found
        life.value = moments
        children.value = family.children
      },
      failure => {
        error.value = failure
      },
    )
  }
  useEffect(load, [id])
  if (error.value !== undefined) return <Failed error={error.value} retry={load} />
  const now = organisms.value.find(each => each.id === id)
  const found = facts.value
  if (found === undefined) return <div class="skeleton" />
  const energies = life.value.map(({ state }) => state.energy)
  const link = (other: number) => (
    <button key={other} type="button" class="plain mono" onClick={() => replaceQuery({ o: String(other) })}>
      #{other}
    </button>
  )
  return (
    <section class="organism stack" aria-label={`Organism ${id}`}>
      <div class="row spread">
        <h3>
          #{id} · lineage {found.lineage}
        </h3>
        <button type="button" class="plain" aria-label="Select nothing" onClick={() => replaceQuery({ o: null })}>
          ×
        </button>
      </div>
      <Sparkline values={energies} says={`Energy ${trend(energies, count)}`} />
      <dl class="facts small">
        <div>
          <dt class="muted">energy</dt>
          <dd>{now ? count(now.energy) : '–'}</dd>
        </div>
        <div>
          <dt class="muted">age</dt>
          <dd>{now ? count(run.shown.value - found.birthTick) : '–'}</dd>
        </div>
        <div>
          <dt class="muted">born</dt>
          <dd>
            <button type="button" class="plain" onClick={() => run.goTo(found.birthTick)}>
              {whole(found.birthTick)}
            </button>
          </dd>
        </div>
        <div>
          <dt class="muted">died</dt>
          <dd>
            {found.deathTick === null ? (
              'alive'
            ) : (
              <button type="button" class="plain" onClick={() => run.goTo(found.deathTick ?? 0)}>
                {whole(found.deathTick)}
              </button>
            )}
          </dd>
        </div>
      </dl>
      <p class="small">
        <span class="muted">parent </span>
        {found.parentId === null ? 'none' : link(found.parentId)}
        <span class="muted"> children </span>
        {children.value.length === 0 ? 'none' : children.value.slice(0, 8).map(child => link(child.id))}
      </p>
    </section>
  )
}
