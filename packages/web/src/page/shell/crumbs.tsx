import { groupAddress, path, topicAddress } from '../address.ts'

type Crumb = { readonly text: string; readonly href: string }

/** The current place, with links back. */
export function Crumbs() {
  const crumbs = crumbsOf(path.value)
  return (
    <nav class="crumbs truncate" aria-label="Where you are">
      {crumbs.map(({ text, href }, index) => (
        <span key={href}>
          {index > 0 && <span class="muted"> / </span>}
          {index === crumbs.length - 1 ? (
            <span aria-current="page" title={text}>
              {text}
            </span>
          ) : (
            <a href={href}>{text}</a>
          )}
        </span>
      ))}
    </nav>
  )
}

const NAMES: { readonly [part: string]: string } = {
  '': 'Overview',
  topics: 'Topics',
  'dead-letters': 'Dead letters',
  services: 'Services',
  runs: 'Worlds',
}

function crumbsOf(place: string): readonly Crumb[] {
  const [, first = '', name, , group] = place.split('/').map(decoded)
  const root = { text: NAMES[first] ?? first, href: `/${first}` }
  if (name === undefined || name === '') return [root]
  if (first !== 'topics') return [root, { text: name, href: place }]
  const topic = { text: name, href: topicAddress(name) }
  if (place.endsWith('/messages')) return [root, topic, { text: 'messages', href: place }]
  if (group === undefined) return [root, topic]
  return [root, topic, { text: group === '-' ? 'queue' : group, href: groupAddress(name, group === '-' ? '' : group) }]
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
