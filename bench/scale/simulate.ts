import type { Costs, Load } from './costs.ts'

type Simulated = {
  /** Processor time of the process, in seconds. */
  readonly seconds: number
  /** Pages that all groups have claimed. */
  readonly pages: number
  /** Most messages that a group was behind the publisher. */
  readonly behind: number
}

type Group = { position: number }

/**
 * One process as a queue with one server, its event loop: the publisher and the groups take turns, and each does one
 * publish or one page before the next has its turn. How large the pages are, and so what they cost, follows from who has
 * fallen how far behind. A message is read by the group that comes first; the others find it in the row cache.
 */
export function simulate({ messages, batch, groups: count, page, live }: Load, costs: Costs): Simulated {
  const groups: Group[] = Array.from({ length: count }, () => ({ position: 0 }))
  let time = count * costs.start
  let published = 0
  let read = 0
  let pages = 0
  let behind = 0
  const publish = (): boolean => {
    const size = Math.min(batch, messages - published)
    if (size === 0) return false
    published += size
    time += costs.batch + size * costs.published + (live ? count * costs.wake : 0)
    return true
  }
  const consume = (group: Group): boolean => {
    const size = Math.min(page, published - group.position)
    if (size === 0) return false
    behind = Math.max(behind, published - group.position)
    const fresh = Math.max(0, group.position + size - read)
    group.position += size
    read += fresh
    pages++
    time += costs.page + fresh * costs.read + size * costs.delivered
    return true
  }
  if (!live) while (publish()) {}
  for (let isBusy = true; isBusy; ) {
    isBusy = publish()
    const before = pages
    for (const group of groups) isBusy = consume(group) || isBusy
    if (pages > before) time += costs.turn
  }
  return { seconds: time / 1e6, pages, behind }
}
