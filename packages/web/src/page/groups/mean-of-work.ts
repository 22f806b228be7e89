/** The mean without the times in which nothing was done; undefined where nothing ever was. */
export function meanOfWork(values: readonly (number | null)[]): number | undefined {
  const worked = values.filter(value => value !== null && value > 0) as number[]
  return worked.length === 0 ? undefined : worked.reduce((sum, value) => sum + value, 0) / worked.length
}
