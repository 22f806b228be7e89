import { whole } from '../format.ts'

/** Above the server's limit of topics, the page knows only some of them, and says so. */
export function LeftOut({ omitted, shown }: { omitted: number; shown: number }) {
  if (omitted === 0) return null
  return (
    <p class="muted small">
      {whole(shown)} topics are shown, and {whole(omitted)} more are left out. <code>tidemark topics list</code> and{' '}
      <code>GET /api/v1/topics</code> list all.
    </p>
  )
}
