import { duration, whole } from '../../config/option-table.ts'
import { BATCH_TOPIC, METADATA_TOPIC } from '../notification-topics.ts'
import { Reconciler } from '../persistence/reconciler.ts'
import { defineService } from '../service-type.ts'
import { announcements } from './announcements.ts'

export const reconciler = defineService({
  says: 'Announces what was stored and never announced, at its start and again and again. One for each storage is enough.',
  options: {
    interval: duration({ says: 'Between the end of one look and the next.', min: 1, default: '1m' }),
    pageSize: whole({ says: "Keys of a page of the storage's listing.", min: 1, max: 100_000, default: 1_000 }),
  },
  bindings: {
    storage: { kind: 'storage-write', says: 'Is looked through; corrupt files are quarantined there.' },
    batches: announcements(BATCH_TOPIC, 'Gets word of the batches that it finds.'),
    metadata: announcements(METADATA_TOPIC, 'Gets word of the metadata that it finds.'),
  },
  create({ name, options, resources, logger }) {
    const { tidemark: topics, settings: batches } = resources.topic('batches')
    const { settings: metadata } = resources.topic('metadata')
    const storage = resources.storage('storage')
    return new Reconciler(name, { storage, topics, topicSettings: { batches, metadata }, logger }, options)
  },
})
