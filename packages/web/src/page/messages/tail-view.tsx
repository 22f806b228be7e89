import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { count } from '../format.ts'
import { Empty, Loading } from '../parts/states.tsx'
import type { Filter } from './filter.ts'
import { MessageTable } from './message-table.tsx'
import type { StoredMessage } from './stored-message.ts'
import { useTail } from './tail.ts'

/** Number of earlier messages shown first, so that a tail does not begin empty. */
const BEFORE = 20
const NEAR_PX = 24

type Props = {
  readonly topic: string
  readonly filter: Filter
  /** The page that was shown before. */
  readonly start: readonly StoredMessage[]
  readonly isStarted: boolean
}

export function TailView(props: Props) {
  return props.isStarted ? <Following {...props} /> : <Loading rows={12} />
}

/** The newest is at the bottom. A user who scrolls up reads on undisturbed, and sees how many have arrived. */
function Following({ topic, filter, start, isStarted }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const earlier = start.toSorted((one, other) => one.id - other.id).slice(-BEFORE)
  const tail = useTail(topic, filter, earlier, isStarted)
  const { messages, waiting } = tail.shown.value
  const isAtEnd = useRef(true)
  const toEnd = (): void => {
    isAtEnd.current = true
    tail.follow(true)
    box.current?.scrollTo({ top: box.current.scrollHeight })
  }
  useLayoutEffect(() => {
    if (isAtEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [messages.at(-1)?.id])
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const scrolled = (): void => {
      const { scrollTop, clientHeight, scrollHeight } = element
      const isNow = scrollHeight - scrollTop - clientHeight < NEAR_PX
      if (isNow === isAtEnd.current) return
      isAtEnd.current = isNow
      tail.follow(isNow)
    }
    element.addEventListener('scroll', scrolled, { passive: true })
    return () => element.removeEventListener('scroll', scrolled)
  }, [])
  return (
    <div class="tail">
      {tail.error.value !== '' && <p class="warning">{tail.error}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by the keyboard (WCAG 2.1.1) */}
      <section class="tail-box" ref={box} aria-label="Tail" tabIndex={0}>
        {messages.length === 0 ? (
          <Empty title="Waiting for the next message">What is published from now on appears here.</Empty>
        ) : (
          <MessageTable messages={messages} />
        )}
      </section>
      {waiting > 0 && (
        <button type="button" class="primary new-ones" onClick={toEnd}>
          {count(waiting)} new ↓
        </button>
      )}
    </div>
  )
}
