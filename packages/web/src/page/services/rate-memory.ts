const KEPT = 120

/** Rates of the last two minutes by service, for as long as the page is open. */
const memory = new Map<string, (number | null)[]>()

export function remember(service: string, value: number | null): void {
  const values = memory.get(service) ?? []
  values.push(value)
  if (values.length > KEPT) values.shift()
  memory.set(service, values)
}

export const remembered = (service: string): readonly (number | null)[] => memory.get(service) ?? []
