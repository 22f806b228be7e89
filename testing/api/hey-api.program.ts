import { listTopics, publish } from './index'

const { data } = await listTopics()
export const names: string[] = (data?.topics ?? []).map(({ topic }) => topic)
await publish({ path: { topic: 'orders' }, body: { payload: { orderId: 7 }, key: 'customer-3' } })
