import { useEffect } from 'preact/hooks'
import { path } from '../address.ts'
import { askWho, session } from '../session.ts'
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
  if (session.value === undefined) return <Connecting />
  const { title, screen } = screenAt(path.value)
  document.title = title === '' ? 'Tidemark' : `${title} · Tidemark`
  return (
    <>
      <Shell title={title}>{screen}</Shell>
      {session.value === null && <Login />}
      <Notices />
    </>
  )
}
