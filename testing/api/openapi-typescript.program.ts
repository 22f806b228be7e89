import createClient from 'openapi-fetch'
import type { paths } from './schema'

const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:4680' })
const { data } = await client.GET('/api/v1/topics')
export const names: string[] = (data?.topics ?? []).map(({ topic }) => topic)
await client.POST('/api/v1/topics/{topic}/messages', {
  params: { path: { topic: 'orders' } },
  body: { payload: { orderId: 7 }, key: 'customer-3' },
})
