import { effect, useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { query, replaceQuery } from '../address.ts'
import { copy } from '../copy.ts'
import { count } from '../format.ts'
import { addCommands } from '../keys.ts'
import { Mark } from '../parts/mark.tsx'
import { Empty, Failed, Loading } from '../parts/states.tsx'
import { Charts } from './charts.tsx'
import { Lineages } from './lineages.ts'
import type { Organism } from './organism.ts'
import { organismsAt } from './organisms.ts'
import { OrganismsPanel } from './organisms-panel.tsx'
import { SCHEMES, type Scheme } from './palette.ts'
import { RunState } from './run-state.ts'
import { Timeline } from './timeline.tsx'
import { WorldCanvas } from './world-canvas.tsx'

/** How often the progress of a growing run is requested. */
const REFRESH_MS = 1_000

export function WorldScreen({ runId }: { runId: string }) {
  const run = useMemo(() => new RunState(runId), [runId])
  const organisms = useSignal<readonly Organism[]>([])
  const lineages = useMemo(() => new Lineages(), [runId])
  const lineageStamp = useSignal(0)
  const scheme = useComputed<Scheme>(() => SCHEMES.find(each => each === query.value.get('c')) ?? 'lineage')
  const selected = useComputed(() => {
    const text = query.value.get('o')
    return text === null ? undefined : Number(text)
  })
  useEffect(() => {
    const asked = query.peek().get('t')
    void run.load().then(() => {
      if (asked !== null && asked !== 'live' && Number.isFinite(Number(asked))) run.goTo(Number(asked))
    })
  }, [run])
  useEffect(() => refreshed(run), [run])
  useEffect(() => followed(run, organisms, lineages, lineageStamp), [run])
  useEffect(() => addressed(run), [run])
  useEffect(
    () =>
      addCommands('World', {
        ' ': ['Play or pause', () => run.togglePlay()],
        ArrowLeft: ['One sample back', () => run.step(-1)],
        ArrowRight: ['One sample on', () => run.step(1)],
        'Shift+ArrowLeft': ['Ten samples back', () => run.step(-10)],
        'Shift+ArrowRight': ['Ten samples on', () => run.step(10)],
        PageUp: ['A thousand samples back', () => run.step(-1000)],
        PageDown: ['A thousand samples on', () => run.step(1000)],
        Home: ['First tick', () => run.goTo(0)],
        End: ['Last tick', () => run.goTo(Number.MAX_SAFE_INTEGER)],
        v: ['Follow live', () => run.followLive()],
        '[': [
          'Slower',
          () => {
            run.speed.value = Math.max(1, run.speed.value / 2)
          },
        ],
        ']': [
          'Faster',
          () => {
            run.speed.value = Math.min(480, run.speed.value * 2)
          },
        ],
        c: ['Next colours', () => replaceQuery({ c: next(SCHEMES, scheme.value) })],
        n: ['Next organism', () => select(organisms.value, selected.value, 1)],
        N: ['Previous organism', () => select(organisms.value, selected.value, -1)],
        y: ['Copy a link to this view', () => void copyLink(run)],
        Escape: ['Select nothing', () => replaceQuery({ o: null })],
      }),
    [run],
  )
  if (run.error.value !== undefined) return <Failed error={run.error.value} retry={() => void run.load()} />
  const details = run.details.value
  if (details === undefined) return <Loading rows={10} />
  if (details.metadata === null || run.range.value === null)
    return (
      <Empty isWhole title="Nothing of this run is indexed yet">
        Its world appears here as soon as the first batch is indexed. This page looks again every second.
      </Empty>
    )
  const { metadata } = details
  return (
    <div class="world">
      <div class="row spread world-head">
        <div class="row">
          <a href="/runs">Worlds</a>
          <h1 class="truncate">{metadata.seed === '' ? runId : metadata.seed}</h1>
          {run.isLive.value && (
            <Mark kind="ok" word="live">
              live
            </Mark>
          )}
          <span class="muted small">
            {metadata.environment.shape.join(' × ')} · {count(organisms.value.length)} alive
          </span>
        </div>
        <div class="row">
          <label class="row">
            <span class="muted">Colour</span>
            <select value={scheme.value} onChange={event => replaceQuery({ c: event.currentTarget.value })}>
              {SCHEMES.map(name => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <button type="button" onClick={() => void copyLink(run)}>
            Copy link
          </button>
        </div>
      </div>
      <div class="world-body">
        <WorldCanvas
          run={run}
          metadata={metadata}
          scheme={scheme}
          organisms={organisms}
          lineages={lineages}
          stamp={lineageStamp}
        />
        <OrganismsPanel run={run} organisms={organisms} lineages={lineages} selected={selected} />
      </div>
      <Timeline run={run} />
      <Charts run={run} types={metadata.moleculeTypes} />
    </div>
  )
}

const next = <T,>(all: readonly T[], current: T): T & string =>
  all[(all.indexOf(current) + 1) % all.length] as T & string

function select(all: readonly Organism[], current: number | undefined, step: number): void {
  const ids = all.map(({ id }) => id)
  if (ids.length === 0) return
  const place = current === undefined ? -1 : ids.indexOf(current)
  replaceQuery({ o: String(ids[(place + step + ids.length) % ids.length]) })
}

/** The current tick, not "live": whoever opens it sees the same. */
async function copyLink(run: RunState): Promise<void> {
  const url = new URL(location.href)
  url.searchParams.set('t', String(run.shown.value))
  await copy(url.href, 'the link')
}

function refreshed(run: RunState): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === 'hidden') return
    if (run.range.peek() === null) void run.load()
    else void run.refresh().catch(() => undefined)
  }, REFRESH_MS)
  const series = setInterval(() => {
    if (document.visibilityState === 'visible' && run.isLive.peek()) void run.loadSeries().catch(() => undefined)
  }, 5 * REFRESH_MS)
  return () => {
    clearInterval(timer)
    clearInterval(series)
  }
}

/** The organisms of the shown tick: one request at a time, the newest wins. */
function followed(
  run: RunState,
  organisms: { value: readonly Organism[] },
  lineages: Lineages,
  stamp: { value: number },
): () => void {
  let isAsking = false
  let wanted = -1
  const ask = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    while (wanted >= 0) {
      const tick = wanted
      wanted = -1
      const found = await organismsAt(run.runId, tick).catch(() => undefined)
      if (found === undefined) continue
      lineages.update(found)
      organisms.value = found.filter(({ isDead }) => !isDead)
      stamp.value++
    }
    isAsking = false
  }
  return effect(() => {
    if (run.shown.value < 0) return
    wanted = run.shown.value
    void ask()
  })
}

/** Writes the tick into the address a quarter of a second after it has come to rest. */
function addressed(run: RunState): () => void {
  let timer = 0
  const end = effect(() => {
    const text = run.isLive.value ? 'live' : String(run.tick.value)
    if (run.range.value === null) return
    clearTimeout(timer)
    timer = setTimeout(() => replaceQuery({ t: text }), 250)
  })
  return () => {
    clearTimeout(timer)
    end()
  }
}
