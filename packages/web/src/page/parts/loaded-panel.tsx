import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { Loaded } from './load.ts'
import { OldAge } from './old-age.tsx'
import { Failed, Loading } from './states.tsx'

/** A panel that loads its own data: if that fails, only this panel fails. */
export function LoadedPanel<T>({
  title,
  loaded,
  rows = 2,
  aside,
  children,
}: {
  title: string
  loaded: Loaded<T>
  rows?: number
  aside?: ComponentChildren
  children(value: T): ComponentChildren
}) {
  const id = useId()
  const value = loaded.value.value
  return (
    <section class="panel stack" aria-labelledby={id}>
      <div class="row spread">
        <h2 id={id}>{title}</h2>
        <OldAge />
        {aside}
      </div>
      {loaded.error.value !== undefined ? (
        <Failed error={loaded.error.value} retry={loaded.reload} />
      ) : value === undefined ? (
        <Loading rows={rows} />
      ) : (
        <div class="values">{children(value)}</div>
      )}
    </section>
  )
}
