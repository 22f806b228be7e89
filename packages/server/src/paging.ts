/** A page of a list sorted by name, if the list is short enough to be read completely. */
export function pageByName<T>(
  all: readonly T[],
  nameOf: (item: T) => string,
  { after, limit = 100 }: { readonly after?: string; readonly limit?: number },
): { readonly items: readonly T[]; readonly next: string | null } {
  const rest = after === undefined ? all : all.filter(item => nameOf(item) > after)
  const items = rest.slice(0, limit)
  const last = items.at(-1)
  return { items, next: rest.length > items.length && last !== undefined ? nameOf(last) : null }
}
