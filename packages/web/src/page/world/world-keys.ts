import type { ReadonlySignal } from '@preact/signals'
import { replaceQuery } from '../address.ts'
import { addCommands } from '../keys.ts'
import type { Organism } from './organism.ts'
import { SCHEMES, type Scheme } from './palette.ts'
import type { RunState } from './run-state.ts'
import { select, selectNext } from './selection.ts'

type Parts = {
  readonly run: RunState
  readonly scheme: ReadonlySignal<Scheme>
  readonly organisms: ReadonlySignal<readonly Organism[]>
  readonly selected: ReadonlySignal<number | undefined>
  readonly isFollowing: { value: boolean }
  copyLink(): void
}

/** Keys of time, colours and organisms. */
export function addWorldKeys({ run, scheme, organisms, selected, isFollowing, copyLink }: Parts): () => void {
  return addCommands('World', {
    ' ': ['Play or pause', () => run.togglePlay()],
    ArrowLeft: ['One sample back', () => run.step(-1)],
    ArrowRight: ['One sample on', () => run.step(1)],
    'Shift+ArrowLeft': ['Ten samples back', () => run.step(-10)],
    'Shift+ArrowRight': ['Ten samples on', () => run.step(10)],
    PageUp: ['A thousand samples back', () => run.step(-1000)],
    PageDown: ['A thousand samples on', () => run.step(1000)],
    Home: ['First tick', () => run.goTo(0)],
    End: ['Last tick', () => run.goTo(Number.MAX_SAFE_INTEGER)],
    t: ['Go to a tick', () => document.getElementById('tick-field')?.focus()],
    v: ['Follow live', () => run.followLive()],
    '[': ['Slower', () => run.faster(-1)],
    ']': ['Faster', () => run.faster(1)],
    c: [
      'Next colours',
      () => replaceQuery({ c: SCHEMES[(SCHEMES.indexOf(scheme.value) + 1) % SCHEMES.length] ?? null }),
    ],
    n: ['Next organism', () => selectNext(organisms.value, selected.value, 1)],
    N: ['Previous organism', () => selectNext(organisms.value, selected.value, -1)],
    f: [
      'Follow the selected organism',
      () => {
        if (selected.value === undefined) selectNext(organisms.value, undefined, 1)
        isFollowing.value = !isFollowing.value
      },
    ],
    y: ['Copy a link to this view', copyLink],
    Escape: ['Select nothing', () => (selected.value === undefined ? undefined : select(undefined))],
  })
}
