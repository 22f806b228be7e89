import { TidemarkError } from 'tidemark'

/** A single item that no amount of waiting makes room for. */
export class ItemTooLargeError extends TidemarkError {
  readonly bytes: number
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

/** The thread at the other end went away without closing the queue. What had arrived before was handed out. */
export class QueueBrokenError extends TidemarkError {
  constructor(problem: string) {
    super('TIDEMARK_QUEUE_BROKEN', `The queue between threads failed: ${problem}. Restart the other side`)
  }
}
