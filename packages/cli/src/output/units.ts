const STEPS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** '3d', '2h', '90s': the two figures that matter. */
export function ago(ms: number): string {
  for (const [step, unit] of STEPS) if (ms >= 2 * step) return `${Math.round(ms / step)}${unit}`
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(1)}s` : `${Math.round(ms)}ms`
}

/** A setting that may be without end. */
export const span = (ms: number | null, endless: string): string => (ms === null ? endless : ago(ms))

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
