/**
 * Dots pass a point as often as messages do. From ten per second on, a dot stands for ten of them, then for a hundred.
 */
export function dotsFor(perSecond: number): { readonly dotsPerSecond: number; readonly each: number } {
  if (!(perSecond > 0)) return { dotsPerSecond: 0, each: 1 }
  const each = 10 ** Math.max(0, Math.ceil(Math.log10(perSecond / 10)))
  return { dotsPerSecond: perSecond / each, each }
}
