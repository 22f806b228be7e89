import { duration, whole } from '../../config/option-table.ts'
import { BATCH_TOPIC, METADATA_TOPIC } from '../notification-topics.ts'
import { Reconciler } from '../persistence/reconciler.ts'
import { defineServiceType } from '../service-type.ts'
import { announcements } from './announcements.ts'

export const reconciler = defineServiceType({
  says: 'Announces stored files that were never announced, at start-up and periodically. One per storage is enough.',
  options: {
    interval: duration({ says: 'Pause between two scans.', min: 1, default: '1m' }),
    pageSize: whole({ says: 'Keys per page of the storage listing.', min: 1, max: 100_000, default: 1_000 }),
  },
  bindings: {
    storage: { kind: 'storage-write', says: 'Storage to scan. Corrupt files are quarantined in it.' },
    batches: announcements(BATCH_TOPIC, 'Topic for announcements of batches.'),
    metadata: announcements(METADATA_TOPIC, 'Topic for announcements of metadata.'),
  },
  create({ name, options, resources, logger }) {
    const batches = resources.topic('batches')
    const announcing = { batches, metadata: resources.topic('metadata') }
    const storage = resources.storage('storage')
    return new Reconciler(name, { storage, topics: batches.tidemark, announcing, logger }, options)
  },
})
