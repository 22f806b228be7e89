import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { goTo, path } from '../address.ts'
import { now } from '../clock.ts'
import { clock, count } from '../format.ts'
import { addCommands } from '../keys.ts'
import { connection, isOutdated, overview, toggleFrozen } from '../live.ts'
import { zone } from '../parts/zone.ts'
import { THEMES, TIMES, theme, times } from '../preferences.ts'
import { changeToken, roleName, session } from '../session.ts'
import { ConnectionBadge } from './connection-badge.tsx'
import { Crumbs } from './crumbs.tsx'
import { Help } from './help.tsx'
import { ICONS } from './icons.tsx'
import { addListKeys } from './list-keys.ts'
import { Search } from './search.tsx'

const PLACES = [
  { href: '/', icon: ICONS.overview, label: 'Overview', keys: 'g o' },
  { href: '/topics', icon: ICONS.topics, label: 'Topics', keys: 'g t' },
  { href: '/dead-letters', icon: ICONS.letters, label: 'Dead letters', keys: 'g d' },
  { href: '/services', icon: ICONS.services, label: 'Services', keys: 'g s' },
  { href: '/runs', icon: ICONS.worlds, label: 'Worlds', keys: 'g w' },
] as const

const BANNER_MS = 60_000
const TIME_WORDS = { relative: 'relative', local: 'local', utc: 'UTC' } as const

export function Shell({ children }: { children: ComponentChildren }) {
  useEffect(addListKeys, [])
  useEffect(
    () =>
      addCommands('Everywhere', {
        ...Object.fromEntries(
          PLACES.map(({ href, label, keys }) => [keys, [`Go to ${label}`, () => goTo(href)] as const]),
        ),
        l: ['Freeze or resume live updates', toggleFrozen],
        '\\': ['Change the theme', nextTheme],
      }),
    [],
  )
  const { state, lastAt } = connection.value
  const isLost = state === 'lost'
  return (
    <div class={`shell ${isLost ? 'stale' : ''}`}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <nav class="bar" aria-label="Places">
        <a class="brand" href="/">
          {ICONS.brand}
          <span>Tidemark</span>
        </a>
        {PLACES.map(({ href, icon, label }) => (
          <a key={href} href={href} title={label} aria-current={isAt(href) ? 'page' : undefined}>
            {icon}
            <span class="label">{label}</span>
            {label === 'Dead letters' && <DeadLetterBadge />}
          </a>
        ))}
      </nav>
      <header class="top">
        <Crumbs />
        <Search />
        <ConnectionBadge />
        {session.value?.by === 'session' ? (
          <button type="button" class="plain role" title="Change token or log out" onClick={changeToken}>
            {roleName}
          </button>
        ) : (
          <span class="muted small role">{roleName}</span>
        )}
        <button
          type="button"
          class="plain times"
          aria-label={`Times: ${times.value}`}
          title={`Times: ${TIME_WORDS[times.value]}. Press for the next.`}
          onClick={nextTimes}
        >
          {TIME_WORDS[times.value]}
        </button>
        <button
          type="button"
          class="plain"
          aria-label={`Theme: ${theme.value}`}
          title={`Theme: ${theme.value} (\\)`}
          onClick={nextTheme}
        >
          ◐
        </button>
        <Help />
      </header>
      <main class="main" id="main" tabIndex={-1}>
        {isLost && now.value - lastAt > BANNER_MS && (
          <p class="banner" role="alert">
            The server has not answered since {clock(new Date(lastAt), zone())}. What you see is from then.
          </p>
        )}
        {isOutdated.value && (
          <p class="banner">
            The server has another version of this page.{' '}
            <button type="button" onClick={() => location.reload()}>
              Reload
            </button>
          </p>
        )}
        {children}
      </main>
    </div>
  )
}

const isAt = (href: string): boolean => (href === '/' ? path.value === '/' : path.value.startsWith(href))

function DeadLetterBadge() {
  const total = overview.value?.topics.reduce((sum, { totals }) => sum + totals.deadLetters, 0)
  return total ? <span class="badge">{count(total)}</span> : null
}

function nextTimes(): void {
  times.value = TIMES[(TIMES.indexOf(times.value) + 1) % TIMES.length] ?? 'relative'
}

function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system'
}
