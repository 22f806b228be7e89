import { signal } from '@preact/signals'
import { theme } from '../preferences.ts'

const media = matchMedia('(prefers-color-scheme: dark)')
const ofSystem = signal(media.matches)
media.addEventListener('change', ({ matches }) => {
  ofSystem.value = matches
})

/** Whether the page is dark now: by choice, or as the system is. A canvas has no light-dark(). */
export const isDark = (): boolean => (theme.value === 'system' ? ofSystem.value : theme.value === 'dark')
