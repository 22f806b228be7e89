/** The value below which `fraction` of the samples lie: the nearest rank, no interpolation. */
export function percentile(samples: readonly number[], fraction: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const rank = Math.max(0, Math.ceil(sorted.length * fraction) - 1)
  const value = sorted[rank]
  if (value === undefined) throw new Error('There are no samples to take a percentile of')
  return value
}

export const median = (samples: readonly number[]): number => percentile(samples, 0.5)
