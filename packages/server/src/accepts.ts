import { NotAcceptableError } from './errors.ts'

/** The offered type that the Accept header prefers; the first one if it has no preference. */
export function accepts(header: string | undefined, offered: readonly [string, ...string[]]): string {
  if (header === undefined || header.trim() === '' || header === '*/*') return offered[0]
  let best: { readonly type: string; readonly quality: number } | undefined
  for (const type of offered) {
    const quality = qualityOf(header, type)
    if (quality > (best?.quality ?? 0)) best = { type, quality }
  }
  if (best === undefined) throw new NotAcceptableError(offered)
  return best.type
}

/** Whether an Accept-Encoding header accepts this encoding. */
export const takesEncoding = (header: string | undefined, encoding: string): boolean =>
  header !== undefined && qualityOf(header, encoding) > 0

/** Quality of the most specific range that matches; 0: not acceptable. */
function qualityOf(header: string, type: string): number {
  let quality = 0
  let specific = -1
  for (const range of header.split(',')) {
    const [name = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    const fit = name === type ? 2 : name === `${type.split('/')[0]}/*` ? 1 : name === '*/*' ? 0 : -1
    if (fit < 0 || fit <= specific) continue
    specific = fit
    const given = parameters.find(part => part.startsWith('q='))?.slice(2)
    quality = given === undefined ? 1 : Math.min(1, Math.max(0, Number(given) || 0))
  }
  return quality
}
