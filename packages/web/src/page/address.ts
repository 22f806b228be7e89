import { computed, signal } from '@preact/signals'

/** The current address. It contains the whole view: whoever opens it elsewhere sees the same. */
const current = signal(new URL(location.href))

export const path = computed(() => current.value.pathname)
export const query = computed(() => current.value.searchParams)

addEventListener('popstate', () => {
  current.value = new URL(location.href)
})

/** A step that the back button undoes. */
export function goTo(address: string): void {
  const url = new URL(address, location.href)
  if (url.href === current.value.href) return
  const isElsewhere = url.pathname !== current.value.pathname
  history.pushState(null, '', url)
  current.value = url
  if (isElsewhere) scrollTo(0, 0)
}

/** Another view of the same place, such as a pan: not a step of its own. Unknown parameters are kept. */
export function replaceQuery(changes: Changes): void {
  const url = withQuery(changes)
  history.replaceState(null, '', url)
  current.value = url
}

/** Another view that the back button undoes, such as a filter. */
export const pushQuery = (changes: Changes): void => goTo(withQuery(changes).href)

/** null removes a parameter. */
type Changes = { readonly [name: string]: string | null }

function withQuery(changes: Changes): URL {
  const url = new URL(current.value)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  return url
}

/** Links within the page are followed without reloading; a click with a modifier opens a tab as usual. */
addEventListener('click', event => {
  if (event.defaultPrevented || event.button !== 0) return
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element | null)?.closest('a')
  if (link === null || link === undefined || link.target !== '' || link.origin !== location.origin) return
  if (/^\/(api|metrics|health|assets)(\/|$)/.test(link.pathname)) return
  event.preventDefault()
  goTo(link.href)
})

export { groupAddress, runAddress, topicAddress } from './places.ts'
