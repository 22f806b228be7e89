import { useEffect, useState } from 'preact/hooks'

/** Before the server has said who the user is. */
export function Connecting() {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 1_000)
    return () => clearTimeout(timer)
  }, [])
  return (
    <main class="main" aria-busy="true">
      {isLate && <p>The server does not answer yet. Trying again…</p>}
    </main>
  )
}
