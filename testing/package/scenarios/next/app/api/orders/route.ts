import { open, type Tidemark } from 'tidemark'

export const dynamic = 'force-dynamic'

// One for the whole server: route handlers are called for each request.
const opened = new Map<string, Promise<Tidemark>>()

function topics(url: string): Promise<Tidemark> {
  const known = opened.get(url) ?? open(url)
  opened.set(url, known)
  return known
}

export async function GET(): Promise<Response> {
  const answers: unknown[] = []
  for (const url of ['sqlite:./app.db', process.env.TIDEMARK_TEST_POSTGRES_URL ?? '']) {
    const tm = await topics(url)
    await tm.publish('orders', { orderId: 7 })
    const reader = tm.reader('orders')
    const delivery = await reader.poll(20_000)
    if (delivery) await reader.ack(delivery)
    answers.push(delivery?.payload)
  }
  return Response.json(answers)
}
