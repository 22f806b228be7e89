import { plural, whole } from '../format.ts'

/** Number of pages that are counted before the question says "at least". */
export const MOST_PAGES = 5

export type Unfinished = {
  readonly id: number
  readonly required: readonly string[]
  readonly completed: readonly string[]
}

/** Messages before an id that wait only for groups that are gone or cancelled. */
export function orphansIn(page: readonly Unfinished[], before: number, live: ReadonlySet<string>): number {
  return page.filter(({ id, required, completed }) => {
    const done = new Set(completed)
    return id < before && required.every(group => done.has(group) || !live.has(group))
  }).length
}

export function orphansText(count: number, isAll: boolean, olderThan: string): string {
  const messages = isAll ? plural(count, 'message') : `At least ${whole(count)} messages`
  return `${messages} older than ${olderThan} ${count === 1 && isAll ? 'counts' : 'count'} as done for groups that are gone.`
}
