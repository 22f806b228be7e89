import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { count, whole } from '../format.ts'
import { Sparkline, trend } from '../parts/sparkline.tsx'
import { Failed } from '../parts/states.tsx'
import { isDark } from './dark.ts'
import { Genome } from './genome.tsx'
import { Swatch } from './legend.tsx'
import type { Lineages } from './lineages.ts'
import type { Moment, Organism, OrganismFacts } from './organism.ts'
import { childrenOf, factsOf, lifeOf } from './organisms.ts'
import { slotColourText } from './palette.ts'
import type { RunState } from './run-state.ts'
import { select } from './selection.ts'

type Props = {
  run: RunState
  id: number
  organisms: ReadonlySignal<readonly Organism[]>
  lineages: Lineages
  isFollowing: { value: boolean }
}

const REFRESH_MS = 3_000

/**
 * One organism: its properties, its energy over time, and its family. When it has died, its children can be selected.
 */
export function OrganismCard({ run, id, organisms, lineages, isFollowing }: Props) {
  const facts = useSignal<OrganismFacts | undefined>(undefined)
  const life = useSignal<readonly Moment[]>([])
  const children = useSignal<readonly OrganismFacts[]>([])
  const error = useSignal<unknown>(undefined)
  const load = (): void => {
    Promise.all([factsOf(run.runId, id), lifeOf(run.runId, id), childrenOf(run.runId, id)]).then(
      ([found, moments, family]) => {
        error.value = undefined
        facts.value = found
        life.value = moments
        children.value = family
      },
      failure => {
        if (facts.value === undefined) error.value = failure
      },
    )
  }
  useEffect(load, [id])
  // While it lives its record grows, until it dies.
  useEffect(() => {
    const timer = setInterval(() => {
      const isOver = facts.peek()?.deathTick !== null && facts.peek() !== undefined
      if (!isOver && document.visibilityState === 'visible') load()
    }, REFRESH_MS)
    return () => clearInterval(timer)
  }, [id])
  const now = organisms.value.find(each => each.id === id)
  const isAbsent = now === undefined && organisms.value.length > 0
  // It is not alive in this tick: check at once whether it has died.
  useEffect(() => {
    if (isAbsent && facts.peek()?.deathTick === null) load()
  }, [isAbsent, run.shown.value > (life.value.at(-1)?.tick ?? 0)])
  if (error.value !== undefined) return <Failed error={error.value} retry={load} />
  const found = facts.value
  if (found === undefined) return <div class="skeleton" />
  const shown = run.shown.value
  const energies = life.value.map(({ state }) => state.energy)
  const genome = life.value.at(-1)?.state.genomeBase64
  const isDead = found.deathTick !== null && shown >= found.deathTick
  return (
    <section class="organism stack" aria-label={`Organism ${id}`}>
      <div class="row spread">
        <h3 class="row">
          <Swatch colour={slotColourText(lineages.slotOf(found.lineage), isDark())} />#{id} · lineage {found.lineage}
        </h3>
        <div class="row">
          <button
            type="button"
            aria-pressed={isFollowing.value}
            title="Follow (f)"
            onClick={() => {
              isFollowing.value = !isFollowing.value
            }}
          >
            {isFollowing.value ? 'Following' : 'Follow'}
          </button>
          <button type="button" class="plain" aria-label="Select nothing" onClick={() => select(undefined)}>
            ×
          </button>
        </div>
      </div>
      {isDead && <Died tick={found.deathTick ?? 0} heirs={children.value} />}
      <Sparkline values={energies} says={`Energy ${trend(energies, count)}`} />
      <dl class="facts small">
        <Fact name="energy">{now ? count(now.energy) : '–'}</Fact>
        <Fact name="age">{count(Math.max(0, Math.min(shown, found.deathTick ?? shown) - found.birthTick))}</Fact>
        <Fact name="born">
          <Tick run={run} tick={found.birthTick} />
        </Fact>
        <Fact name="died">{found.deathTick === null ? 'alive' : <Tick run={run} tick={found.deathTick} />}</Fact>
      </dl>
      <p class="small family">
        <span class="muted">parent</span> {found.parentId === null ? 'none' : <Link id={found.parentId} />}
        <span class="muted">children</span>{' '}
        {children.value.length === 0 ? 'none' : children.value.map(child => <Link key={child.id} id={child.id} />)}
      </p>
      {genome !== undefined && <Genome base64={genome} />}
    </section>
  )
}

function Died({ tick, heirs }: { tick: number; heirs: readonly OrganismFacts[] }) {
  return (
    <p class="died small" role="status">
      Died at tick {whole(tick)}.{' '}
      {heirs.length === 0
        ? 'It left no children.'
        : heirs.length === 1
          ? 'Its child lives on: '
          : `Its ${heirs.length} children: `}
      {heirs.slice(0, 6).map(({ id }) => (
        <button key={id} type="button" onClick={() => select(id)}>
          Go to #{id}
        </button>
      ))}
    </p>
  )
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt class="muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Tick({ run, tick }: { run: RunState; tick: number }) {
  return (
    <button type="button" class="plain" title={`Go to tick ${tick}`} onClick={() => run.goTo(tick)}>
      {whole(tick)}
    </button>
  )
}

function Link({ id }: { id: number }) {
  return (
    <button type="button" class="plain mono" onClick={() => select(id)}>
      #{id}
    </button>
  )
}
