import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { plural } from '../format.ts'
import { at, write } from '../http.ts'
import type { ConfigPreview } from '../shapes.ts'

/** Pause in typing after which the server is asked. */
const QUIET_MS = 300

/** The effect of the changes, in words; undefined while it is unknown. */
export function useConfigPreview(topic: string, options: object | undefined): string | undefined {
  const says = useSignal<string | undefined>(undefined)
  const text = options === undefined ? '' : JSON.stringify(options)
  useEffect(() => {
    says.value = undefined
    if (text === '') return
    let isOver = false
    const timer = setTimeout(() => {
      write<ConfigPreview>('POST', `${at('topics', topic)}/config/preview`, JSON.parse(text) as object).then(
        ({ mayRemove }) => {
          if (!isOver) says.value = effectOf(mayRemove)
        },
        (failure: Error) => {
          if (!isOver) says.value = failure.message
        },
      )
    }, QUIET_MS)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [topic, text])
  return says.value
}

const effectOf = (mayRemove: number): string =>
  mayRemove === 0
    ? 'no message goes for it.'
    : `up to ${plural(mayRemove, 'consumed message')} may go at the next clean-up.`
