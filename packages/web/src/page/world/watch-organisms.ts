import { effect, type Signal } from '@preact/signals'
import type { Lineages } from './lineages.ts'
import type { Organism } from './organism.ts'
import { organismsAt } from './organisms.ts'
import type { RunState } from './run-state.ts'

/** While it plays, the list of organisms is updated this often; at rest it is exact. */
const WHILE_MOVING_MS = 300

/** The organisms of the shown tick: one request at a time, the newest wins. The returned function ends it. */
export function watchOrganisms(
  run: RunState,
  organisms: Signal<readonly Organism[]>,
  lineages: Lineages,
  stamp: Signal<number>,
): () => void {
  let isAsking = false
  let isOver = false
  let wanted = -1
  let timer = 0
  const ask = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    while (wanted >= 0 && !isOver) {
      const tick = wanted
      wanted = -1
      const found = await organismsAt(run.runId, tick).catch(() => undefined)
      if (found !== undefined && !isOver) {
        lineages.update(found)
        organisms.value = found.filter(({ isDead }) => !isDead)
        stamp.value++
      }
      const isMoving = run.isPlaying.peek() || run.isLive.peek()
      if (isMoving) await new Promise(resolve => (timer = setTimeout(resolve, WHILE_MOVING_MS)))
    }
    isAsking = false
  }
  const end = effect(() => {
    if (run.shown.value < 0) return
    wanted = run.shown.value
    void ask()
  })
  return () => {
    isOver = true
    clearTimeout(timer)
    end()
  }
}
