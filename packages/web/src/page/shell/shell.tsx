import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { goTo, path } from '../address.ts'
import { now } from '../clock.ts'
import { clock, count, duration } from '../format.ts'
import { addCommands } from '../keys.ts'
import { connection, frozen, isOutdated, missedWhileFrozen, overview, toggleFrozen } from '../live.ts'
import { Mark } from '../parts/mark.tsx'
import { THEMES, theme } from '../preferences.ts'
import { changeToken, roleName, session } from '../session.ts'
import { Help } from './help.tsx'
import { ICONS } from './icons.tsx'

const PLACES = [
  { href: '/', icon: ICONS.overview, label: 'Overview', keys: 'g o' },
  { href: '/topics', icon: ICONS.topics, label: 'Topics', keys: 'g t' },
  { href: '/dead-letters', icon: ICONS.letters, label: 'Dead letters', keys: 'g d' },
  { href: '/services', icon: ICONS.services, label: 'Services', keys: 'g s' },
  { href: '/runs', icon: ICONS.worlds, label: 'Worlds', keys: 'g w' },
] as const

const BANNER_MS = 60_000

export function Shell({ title, children }: { title: string; children: ComponentChildren }) {
  const search = useRef<HTMLInputElement>(null)
  useEffect(
    () =>
      addCommands('Everywhere', {
        ...Object.fromEntries(
          PLACES.map(({ href, label, keys }) => [keys, [`Go to ${label}`, () => goTo(href)] as const]),
        ),
        '/': ['Search', () => search.current?.focus()],
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
        <span class="place truncate muted">{title}</span>
        <input
          ref={search}
          type="search"
          placeholder="Search topics and groups  /"
          aria-label="Search topics and groups"
          onKeyDown={event => {
            if (event.key === 'Escape') event.currentTarget.blur()
            if (event.key === 'Enter') goTo(`/topics?q=${encodeURIComponent(event.currentTarget.value)}`)
          }}
        />
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
            The server has not answered since {clock(new Date(lastAt), 'local')}. What you see is from then.
          </p>
        )}
        {isOutdated.value && (
          <p class="banner">
            The server has a newer page.{' '}
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
  const total = overview.value?.topics.flatMap(({ groups }) => groups).reduce((sum, each) => sum + each.deadLetters, 0)
  return total ? <span class="badge">{count(total)}</span> : null
}

function ConnectionBadge() {
  const { state, lastAt, retryInMs } = connection.value
  if (frozen.value)
    return (
      <button type="button" class="plain" onClick={toggleFrozen}>
        <Mark kind="paused" word="frozen">
          frozen · {count(missedWhileFrozen.value)} missed
        </Mark>
      </button>
    )
  if (state === 'live')
    return (
      <span class="connection">
        <Mark kind="ok" word="live">
          live
        </Mark>
      </span>
    )
  if (state === 'lost')
    return (
      <span class="connection">
        <Mark kind="off" word="disconnected">
          last {clock(new Date(lastAt), 'local')}, retrying in {duration(Math.max(1000, retryInMs))}
        </Mark>
      </span>
    )
  return (
    <span class="connection">
      <Mark kind="off" word="connecting">
        connecting
      </Mark>
    </span>
  )
}

function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system'
}
