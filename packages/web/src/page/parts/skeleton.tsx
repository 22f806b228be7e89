import { useEffect, useState } from 'preact/hooks'

/** A heading, lines of text, or a panel; `lines` is how many rows a panel has, each `of` pixels high. */
type Block =
  | { readonly kind: 'title' | 'line' | 'wide'; readonly height?: number }
  | { readonly kind: 'panel'; readonly lines: number; readonly of?: number; readonly class?: string }
  | { readonly kind: 'group'; readonly class: string; readonly blocks: readonly Block[] }

const TITLE: Block = { kind: 'title' }
const FIGURES: Block = { kind: 'panel', lines: 1, of: 42 }
const group = (name: string, ...blocks: readonly Block[]): Block => ({ kind: 'group', class: name, blocks })
const panel = (lines: number, of?: number, more = ''): Block => ({
  kind: 'panel',
  lines,
  class: more,
  ...(of !== undefined && { of }),
})
const times = (count: number, block: Block): readonly Block[] => new Array<Block>(count).fill(block)

/** The screens in the layout that they will have, so that nothing moves when their figures arrive. */
const SCREENS = {
  overview: group(
    'overview',
    panel(2, 36, 'needs'),
    panel(1, 140, 'world-thumbnail'),
    panel(1, 240, 'pipeline'),
    panel(6, 30),
  ),
  topics: group('stack', TITLE, { kind: 'line', height: 34 }, panel(10, 24)),
  topic: group('beside', panel(8, 24, 'rail'), group('stack', TITLE, FIGURES, panel(6, 40))),
  group: group(
    'stack',
    TITLE,
    FIGURES,
    group('stack', { kind: 'line', height: 34 }, group('charts', panel(1, 165), panel(1, 165))),
    group('columns', ...times(4, panel(3, 24))),
  ),
  messages: group('stack', TITLE, { kind: 'wide', height: 34 }, panel(12, 24)),
  letters: group('stack', TITLE, group('stack tight', ...times(4, panel(1, 24)))),
  services: group('stack', TITLE, group('stack tight services', ...times(8, panel(1, 24)))),
  runs: group('stack', TITLE, group('cards', ...times(3, panel(1, 240, 'card')))),
  world: group(
    'world',
    TITLE,
    group('world-body', panel(0, 0, 'world-view'), panel(10, 24, 'sheet sheet-organisms'), panel(1, 56, 'timeline')),
  ),
} as const satisfies { readonly [screen: string]: Block }

export type ScreenName = keyof typeof SCREENS

/** Nothing for 150 ms, so that what comes quickly does not flicker; then the screen without its figures. */
export function LoadingScreen({ name }: { name: ScreenName }) {
  const isLate = useLate()
  return isLate ? (
    <div role="status" aria-busy="true" aria-label="Loading" class="skeletons">
      <Drawn block={SCREENS[name]} />
    </div>
  ) : null
}

export function useLate(afterMs = 150): boolean {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), afterMs)
    return () => clearTimeout(timer)
  }, [])
  return isLate
}

function Drawn({ block }: { block: Block }) {
  if (block.kind === 'group')
    return (
      <div class={block.class}>
        {block.blocks.map((each, index) => (
          <Drawn key={index} block={each} />
        ))}
      </div>
    )
  if (block.kind === 'panel')
    return (
      <div class={`panel stack ${block.class ?? ''}`}>
        {Array.from({ length: block.lines }, (_, line) => (
          <Bar key={line} height={block.of} />
        ))}
      </div>
    )
  return <Bar kind={block.kind} height={block.height} />
}

function Bar({ kind, height }: { kind?: string; height: number | undefined }) {
  return (
    <div
      class={kind === undefined ? 'skeleton' : `skeleton skeleton-${kind}`}
      style={{ height: height && `${height}px` }}
    />
  )
}
