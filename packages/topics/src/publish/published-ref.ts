/** Reference to a stored message. */
export type PublishedRef = {
  /** Name of the topic. */
  readonly topic: string
  /** Position of the message in the log. */
  readonly id: number
  /** Unique id of the message: the given one, or a generated one. */
  readonly messageId: string
  /**
   * Whether a message with this `messageId` was already stored. If so, this refers to that message, and nothing was
   * added.
   */
  readonly duplicate: boolean
}
