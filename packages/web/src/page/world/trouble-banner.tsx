import { whole } from '../format.ts'
import type { RunState } from './run-state.ts'
import type { Trouble } from './show-frames.ts'

/** Over the canvas: the requested tick does not exist. Offers the nearest ones. */
export function TroubleBanner({ run, trouble }: { run: RunState; trouble: Trouble | undefined }) {
  if (run.isGone.value)
    return (
      <p class="banner world-banner" role="status">
        This run has been deleted. What was loaded stays until you leave. <a href="/runs">All worlds</a>
      </p>
    )
  if (trouble === undefined) return null
  if (!trouble.isMissing)
    return (
      <p class="banner world-banner" role="status">
        {trouble.detail}
      </p>
    )
  const { before, after } = trouble.nearest ?? run.around(trouble.tick)
  const offer = (tick: number | null | undefined, word: string) =>
    typeof tick === 'number' && (
      <button type="button" onClick={() => run.goTo(tick)}>
        {word} {whole(tick)}
      </button>
    )
  return (
    <p class="banner world-banner row" role="status">
      Tick {whole(trouble.tick)} is missing. {offer(before, 'Back to')} {offer(after, 'On to')}
    </p>
  )
}
