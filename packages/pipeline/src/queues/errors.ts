import { CodedError } from 'tidemark'

/** The thread at the other end ended without closing the queue. Items that had arrived were delivered. */
export class QueueBrokenError extends CodedError {
  constructor(problem: string) {
    super('TIDEMARK_QUEUE_BROKEN', `The queue between threads failed: ${problem}. Restart the other side`)
  }
}
