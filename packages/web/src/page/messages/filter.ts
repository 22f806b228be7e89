/** What is looked for. All of it stands in the address. */
export type Filter = {
  readonly order: 'newest' | 'oldest'
  readonly key: string | null
  readonly type: string | null
  readonly since: string | null
  readonly from: string | null
}

export function filterOf(given: URLSearchParams): Filter {
  const text = (name: string): string | null => given.get(name) || null
  const since = text('since')
  return {
    order: given.get('order') === 'oldest' ? 'oldest' : 'newest',
    key: text('key'),
    type: text('type'),
    since: since !== null && Number.isNaN(Date.parse(since)) ? null : since,
    from: text('from'),
  }
}

/** As the API takes it. */
export const toQuery = ({ order, key, type, since }: Filter): { [name: string]: string } => ({
  order: `${order}-first`,
  ...(key !== null && { key }),
  ...(type !== null && { type }),
  ...(since !== null && { since: new Date(since).toISOString() }),
})
