/** A message that is stored. */
export type PublishedRef = {
  readonly topic: string
  readonly id: number
  readonly messageId: string
  /** The messageId was stored before; this is that message, and nothing was added. */
  readonly duplicate: boolean
}
