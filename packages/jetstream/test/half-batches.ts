import { connect, headers } from '@nats-io/transport-node'

/** Begins atomic batches on a subject and completes none. */
export async function beginBatches(url: string, subject: string, count: number): Promise<void> {
  const nc = await connect({ servers: url.replace('nats://', '').split(',') })
  for (let n = 0; n < count; n++) {
    const hdrs = headers()
    hdrs.set('Nats-Batch-Id', `half-${n}-${Math.random()}`)
    hdrs.set('Nats-Batch-Sequence', '1')
    nc.publish(subject, 'half', { headers: hdrs })
  }
  await nc.flush()
  await nc.close()
}
