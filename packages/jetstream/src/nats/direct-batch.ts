import { createInbox, type Msg } from '@nats-io/transport-node'
import { type Connection, NobodyThere } from './connection.ts'
import { errorOf, NoAnswer } from './errors.ts'
import { type Stored, storedOf } from './messages.ts'

export type BatchQuery = {
  readonly next_by_subj?: string
  readonly seq?: number
  readonly start_time?: string
  readonly batch?: number
  readonly max_bytes?: number
}

/** One request for messages, to whichever replica answers. */
export async function directBatch(connection: Connection, stream: string, query: BatchQuery): Promise<Stored[]> {
  const found: Stored[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let isWhole = true
  let heard = 0
  // An answer may be lost: a silence is shorter than the time that the whole request has. A process that got no processor
  // for so long first looks at what has come meanwhile.
  const timer = setTimeout(() => {
    const before = heard
    setImmediate(() => {
      if (heard !== before) timer.refresh()
      // As from a replica that lags behind.
      else if (isWhole && found.length > 0) resolve()
      else reject(new NoAnswer('timeout'))
    })
  }, connection.attemptMs)
  // Each message names the one before it: a connection that broke for a moment loses some of the answer.
  const follows = ({ headers: hdrs }: Msg): boolean =>
    Number(hdrs?.last('Nats-Last-Sequence')) === (found.at(-1)?.seq ?? 0)
  const subscription = connection.subscribe(createInbox(), (error, message) => {
    if (error !== null) return reject(new NoAnswer('no answer', { cause: error }))
    heard++
    timer.refresh()
    const code = message.headers?.code ?? 0
    if (code === 0 || code === 204) isWhole &&= follows(message)
    if (code === 0) found.push(storedOf(message))
    else if (code === 204 || code === 404) isWhole ? resolve() : reject(new NoAnswer('the answer has a gap'))
    else if (code === 503) reject(new NobodyThere(`no replica of ${stream} answers`))
    else reject(errorOf({ code, description: message.headers?.description ?? '' }, connection.where))
  })
  try {
    connection.publish(`$JS.API.DIRECT.GET.${stream}`, Buffer.from(JSON.stringify(query)), undefined, subscription)
    await promise
    return found
  } finally {
    clearTimeout(timer)
    subscription.unsubscribe()
  }
}
