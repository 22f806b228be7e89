import { bytesOf, hexOf, isText, type StoredMessage, textOf } from './stored-message.ts'

export type View = { readonly name: 'JSON' | 'Decoded' | 'Raw'; readonly text: string }

/** The available views of a payload; none if the server did not send it. */
export function viewsOf(message: StoredMessage): readonly View[] {
  const { payload, payloadBase64, decoded, omittedBytes } = message
  if (omittedBytes !== undefined) return []
  const views: View[] = []
  if (decoded !== undefined) views.push({ name: 'Decoded', text: JSON.stringify(decoded.value, null, 2) })
  if (payloadBase64 === undefined) {
    views.push({ name: 'JSON', text: JSON.stringify(payload, null, 2) ?? '' })
    views.push({ name: 'Raw', text: hexOf(new TextEncoder().encode(JSON.stringify(payload) ?? '')) })
    return views
  }
  if (isText(message)) views.push({ name: 'JSON', text: textOf(payloadBase64) })
  views.push({ name: 'Raw', text: hexOf(bytesOf(payloadBase64)) })
  return views
}

/** Bytes of the payload as it is stored. */
export function sizeOf({ payload, payloadBase64, payloadSize, omittedBytes }: StoredMessage): number {
  if (payloadSize !== undefined) return payloadSize
  if (omittedBytes !== undefined) return omittedBytes
  if (payloadBase64 !== undefined)
    return Math.floor((payloadBase64.length * 3) / 4) - (/=*$/.exec(payloadBase64)?.[0].length ?? 0)
  return new TextEncoder().encode(JSON.stringify(payload) ?? '').length
}
