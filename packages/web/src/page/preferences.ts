import { effect, type Signal, signal } from '@preact/signals'

/** Preferences in this browser. Without storage they last until the tab is closed. */
function kept<T extends string>(name: string, allowed: readonly T[]): Signal<T> {
  const [first] = allowed as readonly [T]
  const chosen = signal<T>(allowed.find(each => each === read(name)) ?? first)
  effect(() => {
    try {
      localStorage.setItem(name, chosen.value)
    } catch {
      // Storage is full or forbidden: the preference lasts until the tab is closed.
    }
  })
  return chosen
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

export const THEMES = ['system', 'light', 'dark'] as const
export const theme = kept('tidemark.theme', THEMES)
export const TIMES = ['relative', 'local', 'utc'] as const
export const times = kept('tidemark.times', TIMES)
/** Single letters as commands; WCAG requires that they can be switched off. */
export const letterKeys = kept('tidemark.keys', ['on', 'off'])

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

const media = matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(media.matches)
media.addEventListener('change', ({ matches }) => {
  isSystemDark.value = matches
})

/** Whether the page is dark now: by choice, or as the system is. A canvas and a picture have no light-dark(). */
export const isDark = (): boolean => (theme.value === 'system' ? isSystemDark.value : theme.value === 'dark')

/** The effective theme, whoever chose it. */
export const shownTheme = (): 'light' | 'dark' => (isDark() ? 'dark' : 'light')
