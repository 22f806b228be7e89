import { duration, whole } from '../../config/option-table.ts'
import { BATCH_TOPIC, METADATA_TOPIC } from '../notification-topics.ts'
import { Reconciler } from '../persistence/reconciler.ts'
import { defineService } from '../service-type.ts'
import { announcedTopic } from './announced-topic.ts'

export const reconciler = defineService({
  says: 'Announces what was stored and never announced, at its start and again and again. One for each storage is enough.',
  options: {
    interval: duration({ says: 'Between the end of one look and the next.', min: 1, default: '1m' }),
    pageSize: whole({ says: "Keys of a page of the storage's listing.", min: 1, max: 100_000, default: 1_000 }),
  },
  bindings: {
    storage: { kind: 'storage-write', says: 'Is looked through; corrupt files are quarantined there.' },
    batches: { kind: 'topic-write', says: `Always '${BATCH_TOPIC}'.` },
    metadata: { kind: 'topic-write', says: `Always '${METADATA_TOPIC}'.` },
  },
  create({ name, options, resources, logger }) {
    announcedTopic(name, resources, 'metadata', METADATA_TOPIC)
    const topics = announcedTopic(name, resources, 'batches', BATCH_TOPIC)
    return new Reconciler(name, { storage: resources.storage('storage'), topics, logger }, options)
  },
})
