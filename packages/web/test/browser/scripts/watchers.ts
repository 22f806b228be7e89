/** A process in which many watch a server's stream of events. */
const [, , address = '', count = '1', detail = ''] = process.argv
const url = `${address}/api/v1/events${detail === '' ? '' : `?detail=${detail}`}`

await Promise.all(Array.from({ length: Number(count) }, watch))

async function watch(): Promise<void> {
  const answer = await fetch(url, { headers: { accept: 'text/event-stream' } })
  console.log(answer.ok ? 'watching' : `refused ${answer.status}`)
  for await (const _ of answer.body ?? []) {
    // What comes is not looked at: the cost of sending it is measured.
  }
}
