import { useEffect } from 'preact/hooks'
import { goTo, path, query } from '../address.ts'
import { Tips } from '../parts/tips.tsx'
import { askWho, isChangingToken, session } from '../session.ts'
import { Connecting } from './connecting.tsx'
import { Login } from './login.tsx'
import { Notices } from './notices.tsx'
import { screenAt } from './screens.tsx'
import { Shell } from './shell.tsx'

export function App() {
  useEffect(() => {
    const ask = (): void =>
      void askWho().catch(() => {
        setTimeout(ask, 2_000)
      })
    ask()
  }, [])
  // The login itself was opened: afterwards the requested page is shown.
  useEffect(() => {
    if (session.value && path.value === '/login') goTo(nextOf(query.value.get('next')))
  }, [session.value, path.value])
  if (session.value === undefined) return <Connecting />
  const { title, screen } = screenAt(path.value)
  document.title = title === '' ? 'Tidemark' : `${title} · Tidemark`
  return (
    <>
      <Shell>{screen}</Shell>
      {(session.value === null || isChangingToken.value) && <Login />}
      <Notices />
      <Tips />
    </>
  )
}

/** A place in this page; addresses elsewhere are not followed. */
function nextOf(given: string | null): string {
  const url = new URL(given ?? '/', location.origin)
  return url.origin === location.origin && url.pathname !== '/login' ? `${url.pathname}${url.search}` : '/'
}
