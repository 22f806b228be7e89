import { replaceQuery } from '../address.ts'
import { count } from '../format.ts'
import { Mark } from '../parts/mark.tsx'
import { saveImage, saveSeries } from './download.ts'
import { SCHEMES, type Scheme } from './palette.ts'
import type { Metadata } from './run-shapes.ts'
import type { RunState } from './run-state.ts'

type Props = { run: RunState; metadata: Metadata; alive: number | undefined; scheme: Scheme; copyLink(): void }

/** Which world this is, and the actions on its view. */
export function WorldHead({ run, metadata, alive, scheme, copyLink }: Props) {
  const name = metadata.seed === '' ? run.runId : metadata.seed
  const fileName = `${name.replaceAll(/[^\w-]+/g, '-')}-${run.shown.value}`
  return (
    <div class="row spread world-head">
      <div class="row">
        <h1 class="truncate" title={run.runId}>
          {name}
        </h1>
        {run.isLive.value && (
          <Mark kind="ok" word="live">
            live
          </Mark>
        )}
        <span class="muted small">
          {metadata.environment.shape.join(' × ')} {metadata.environment.topology}
          {alive !== undefined && ` · ${count(alive)} alive`}
        </span>
      </div>
      <div class="row world-tools">
        <label class="row">
          <span class="muted">Colour</span>
          <select value={scheme} onChange={event => replaceQuery({ c: event.currentTarget.value })}>
            {SCHEMES.map(each => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <button
          type="button"
          title="Save what is seen as a picture"
          onClick={() => {
            const canvas = document.querySelector<HTMLCanvasElement>('.world-view > canvas')
            if (canvas !== null) saveImage(canvas, fileName)
          }}
        >
          Image
        </button>
        <button
          type="button"
          title="Save the series of the charts"
          onClick={() => saveSeries(run.series.value, metadata.moleculeTypes, fileName)}
        >
          CSV
        </button>
        <button type="button" title="Copy a link to this view (y)" onClick={copyLink}>
          Copy link
        </button>
        <button type="button" aria-label="Full screen" title="Full screen" onClick={() => void fullScreen()}>
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" fill="none" stroke="currentColor" stroke-width="1.6" />
          </svg>
        </button>
      </div>
    </div>
  )
}

async function fullScreen(): Promise<void> {
  if (document.fullscreenElement !== null) await document.exitFullscreen()
  else await document.querySelector('.world')?.requestFullscreen()
}
