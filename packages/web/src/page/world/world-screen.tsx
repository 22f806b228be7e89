import { effect, useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { query, replaceQuery } from '../address.ts'
import { copy } from '../copy.ts'
import { Problem } from '../http.ts'
import { on } from '../live.ts'
import { LoadingScreen } from '../parts/skeleton.tsx'
import { Empty, Failed, INVALID } from '../parts/states.tsx'
import { Charts } from './charts.tsx'
import { Lineages } from './lineages.ts'
import type { Organism } from './organism.ts'
import { OrganismsPanel } from './organisms-panel.tsx'
import { SCHEMES, type Scheme } from './palette.ts'
import type { RunEvent } from './run-shapes.ts'
import { RunState } from './run-state.ts'
import { selectedId } from './selection.ts'
import { Sheets } from './sheets.tsx'
import { Timeline } from './timeline.tsx'
import { watchOrganisms } from './watch-organisms.ts'
import { WorldCanvas } from './world-canvas.tsx'
import { WorldHead } from './world-head.tsx'
import { addWorldKeys } from './world-keys.ts'

/** How often a growing run is asked how far it is. */
const REFRESH_MS = 1_000
const REFRESH_TURNS = 3
const SERIES_MS = 4_000

export function WorldScreen({ runId }: { runId: string }) {
  const run = useMemo(() => new RunState(runId), [runId])
  const organisms = useSignal<readonly Organism[]>([])
  const lineages = useMemo(() => new Lineages(), [runId])
  const stamp = useSignal(0)
  const isFollowing = useSignal(false)
  const scheme = useComputed<Scheme>(() => SCHEMES.find(each => each === query.value.get('c')) ?? 'lineage')
  const selected = useComputed(selectedId)
  const picked = useComputed(() => pickedLineage(scheme.value))
  useEffect(() => effect(() => lineages.pick(picked.value)), [lineages])
  useEffect(() => {
    const asked = query.peek().get('t')
    const start = asked !== null && /^\d+$/.test(asked) ? Number(asked) : undefined
    if (start !== undefined) run.isLive.value = false
    void run.load(start)
  }, [run])
  useEffect(() => refreshed(run), [run])
  useEffect(() => watchOrganisms(run, organisms, lineages, stamp), [run])
  useEffect(() => addressed(run), [run])
  useEffect(
    () => addWorldKeys({ run, scheme, organisms, selected, isFollowing, copyLink: () => void copyLink(run) }),
    [run],
  )
  if (run.error.value !== undefined) return <WorldError run={run} />
  const details = run.details.value
  if (details === undefined) return <LoadingScreen name="world" />
  if (details.metadata === null || run.range.value === null)
    return (
      <Empty isWhole title="Nothing of this run is indexed yet">
        Its world appears here as soon as the environment indexer has written the first batch. This page looks again
        every second.
      </Empty>
    )
  const { metadata } = details
  return (
    <div class="world">
      <WorldHead
        run={run}
        metadata={metadata}
        alive={stamp.value > 0 ? organisms.value.length : undefined}
        scheme={scheme.value}
        copyLink={() => void copyLink(run)}
      />
      <div class="world-body">
        <WorldCanvas
          run={run}
          metadata={metadata}
          scheme={scheme}
          organisms={organisms}
          lineages={lineages}
          stamp={stamp}
          picked={picked}
          isFollowing={isFollowing}
        />
        <Sheets
          isOpen={selected.value !== undefined}
          panels={{
            Organisms: (
              <OrganismsPanel
                run={run}
                organisms={organisms}
                isKnown={stamp.value > 0}
                lineages={lineages}
                selected={selected}
                isFollowing={isFollowing}
              />
            ),
            Charts: <Charts run={run} types={metadata.moleculeTypes} />,
          }}
        />
        <Timeline run={run} />
      </div>
    </div>
  )
}

function WorldError({ run }: { run: RunState }) {
  const error = run.error.value
  if (error instanceof Problem && (error.status === 404 || error.code === INVALID))
    return (
      <Empty isWhole title="There is no such world">
        Run {run.runId} is not indexed here: it may have been deleted, or be of another server.{' '}
        <a href="/runs">All worlds</a>
      </Empty>
    )
  return <Failed error={error} retry={() => void run.load()} />
}

function pickedLineage(scheme: Scheme): number | undefined {
  const text = query.value.get('l')
  return scheme === 'lineage' && text !== null && /^\d+$/.test(text) ? Number(text) : undefined
}

/** The tick seen now, not "live": whoever opens it sees the same. */
async function copyLink(run: RunState): Promise<void> {
  const url = new URL(location.href)
  url.searchParams.set('t', String(run.shown.value))
  await copy(url.href, 'the link')
}

function refreshed(run: RunState): () => void {
  let turn = 0
  const timer = setInterval(() => {
    if (document.visibilityState === 'hidden' || run.isGone.peek()) return
    // The stream tells how a run grows; asked is only whether it still exists, and where it begins.
    if (run.range.peek() === null) void run.load()
    else if (turn++ % REFRESH_TURNS === 0) void run.refresh()
  }, REFRESH_MS)
  const endEvents = on<RunEvent>('run', ({ runId, tick }) => {
    if (runId === run.runId) run.grownTo(tick)
  })
  let last = -1
  const series = setInterval(() => {
    const end = run.range.peek()?.tickEnd ?? -1
    if (document.visibilityState === 'hidden' || run.isGone.peek() || end === last) return
    last = end
    void Promise.all([run.loadSeries(), run.loadGaps()]).catch(() => undefined)
  }, SERIES_MS)
  return () => {
    endEvents()
    clearInterval(timer)
    clearInterval(series)
  }
}

/** The address holds the tick, a quarter of a second after it has come to rest. */
function addressed(run: RunState): () => void {
  let timer = 0
  const end = effect(() => {
    const text = run.isLive.value ? 'live' : String(run.tick.value)
    // Also where the address is right already: an older tick must not be written over it.
    clearTimeout(timer)
    if (run.range.value === null || query.peek().get('t') === text) return
    timer = setTimeout(() => replaceQuery({ t: text }), 250)
  })
  return () => {
    clearTimeout(timer)
    end()
  }
}
