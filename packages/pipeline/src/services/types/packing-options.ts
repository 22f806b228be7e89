import { choice, type OptionTable, whole } from '../../config/option-table.ts'

/** Of what an index keeps as bytes. */
export const PACKING_OPTIONS = {
  compression: choice(['zstd', 'none'], {
    says: 'Of what is written; what is read tells itself, so it may be changed at any time.',
    default: 'zstd',
  }),
  level: whole({ says: 'Of zstd.', min: 1, max: 19, default: 3 }),
} as const satisfies OptionTable
