/** What S3 servers answer: XML of a few known shapes. Only what is asked for is looked at. */

export type Listing = {
  readonly objects: readonly StoredObject[]
  /** Common prefixes, each up to the delimiter. */
  readonly folders: readonly string[]
  /** Token of the next page. */
  readonly next: string | undefined
}

export type StoredObject = { readonly key: string; readonly bytes: number }

/** undefined if it is no listing, or is cut off and does not say how to go on. */
export function readListing(xml: string): Listing | undefined {
  if (!/<ListBucketResult[\s>]/.test(xml)) return undefined
  const isWhole = textOf(xml, 'IsTruncated') !== 'true'
  const next = isWhole ? undefined : textOf(xml, 'NextContinuationToken')
  if (!isWhole && next === undefined) return undefined
  const isEncoded = textOf(xml, 'EncodingType') === 'url'
  const name = (text: string | undefined): string => (isEncoded ? decoded(text ?? '') : (text ?? ''))
  return {
    objects: partsOf(xml, 'Contents').map(part => ({
      key: name(textOf(part, 'Key')),
      bytes: Number(textOf(part, 'Size') ?? 0),
    })),
    folders: partsOf(xml, 'CommonPrefixes').map(part => name(textOf(part, 'Prefix'))),
    next,
  }
}

/** Code and message of an error. The rest may hold what was signed, with a token in it. */
export function readError(xml: string): { readonly code: string; readonly message: string } {
  const [code = ''] = /^[\w.]{1,80}$/.exec(textOf(xml, 'Code') ?? '') ?? []
  return { code, message: (textOf(xml, 'Message') ?? '').slice(0, 200) }
}

const partsOf = (xml: string, tag: string): string[] =>
  [...xml.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map(([, part = '']) => part)

function textOf(xml: string, tag: string): string | undefined {
  const [, text] = new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml) ?? []
  return text?.replaceAll(/&(lt|gt|quot|apos|amp|#x?[0-9a-f]+);/gi, (_, entity: string) => characterOf(entity))
}

const NAMED: { readonly [entity: string]: string } = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

function characterOf(entity: string): string {
  const named = NAMED[entity.toLowerCase()]
  if (named !== undefined) return named
  const code = entity[1]?.toLowerCase() === 'x' ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1))
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
}

/** A foreign object may have any name; one that can't be decoded is not ours. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
