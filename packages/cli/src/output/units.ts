const STEPS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const

/** '3d', '2h', '90s': rounded to two digits. */
export function ago(ms: number): string {
  for (const [step, unit] of STEPS) if (ms >= 2 * step) return `${Math.round(ms / step)}${unit}`
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(1)}s` : `${Math.round(ms)}ms`
}

/** A duration that may be unlimited. */
export const span = (ms: number | null, endless: string): string => (ms === null ? endless : ago(ms))

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** For people: '3 h 20 min'. */
export function timeLeft(seconds: number): string {
  const minutes = Math.round(seconds / 60)
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d`
}
