export type StoredMessage = {
  readonly id: number
  readonly messageId: string
  readonly key: string | null
  readonly type: string
  readonly headers: { readonly [name: string]: string }
  readonly createdAt: string
  readonly payload?: unknown
  readonly payloadBase64?: string
  readonly omittedBytes?: number
}

/** Payloads are cut at this many characters until the user asks for all of them. */
export const SHOWN_CHARACTERS = 4_096
const SUMMARY = 120

export function summaryOf({ payload, payloadBase64, omittedBytes }: StoredMessage): string {
  if (omittedBytes !== undefined) return `${omittedBytes} bytes, too large to list`
  if (payloadBase64 !== undefined) return `${Math.floor((payloadBase64.length * 3) / 4)} bytes`
  return (JSON.stringify(payload) ?? '').slice(0, SUMMARY)
}
