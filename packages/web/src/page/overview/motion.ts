import { computed, signal } from '@preact/signals'
import { frozen, isLive } from '../live.ts'

const wish = matchMedia('(prefers-reduced-motion: reduce)')
const isReduced = signal(wish.matches)
wish.addEventListener('change', () => {
  isReduced.value = wish.matches
})

/** Nothing moves for users who prefer reduced motion, on a frozen page, and while figures are old. */
export const isMoving = computed(() => !isReduced.value && !frozen.value && isLive.value)
