// What is bundled: publishes and consumes at the address in DATABASE, and prints what happened as JSON.
import { open, TidemarkError } from 'tidemark'

async function main() {
  const tm = await open(process.env.DATABASE ?? '')
  await tm.publish('orders', { orderId: 7 })
  const reader = tm.reader('orders')
  const delivery = await reader.poll(20_000)
  if (delivery) await reader.ack(delivery)
  await tm.close()
  return { payload: delivery?.payload }
}

main().then(
  result => console.log(JSON.stringify(result)),
  error => {
    const { name, code, message } = error
    console.log(JSON.stringify({ name, code, message, isOurs: error instanceof TidemarkError }))
  },
)
