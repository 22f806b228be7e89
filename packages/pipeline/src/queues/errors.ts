import { CodedError } from 'tidemark'

/** The item is larger than the whole queue. */
export class ItemTooLargeError extends CodedError {
  /** Size of the item. */
  readonly bytes: number
  /** Limit of the queue. */
  readonly maxBytes: number

  constructor(bytes: number, maxBytes: number) {
    super(
      'TIDEMARK_ITEM_TOO_LARGE',
      `An item of ${bytes} bytes can never enter a queue of ${maxBytes}. Raise the queue's maxBytes`,
    )
    this.bytes = bytes
    this.maxBytes = maxBytes
  }
}

/** The thread at the other end ended without closing the queue. Items that had arrived were delivered. */
export class QueueBrokenError extends CodedError {
  constructor(problem: string) {
    super('TIDEMARK_QUEUE_BROKEN', `The queue between threads failed: ${problem}. Restart the other side`)
  }
}
