import { choice, type OptionTable, whole } from '../../config/option-table.ts'

/** Compression options of indexed bytes. */
export const PACKING_OPTIONS = {
  compression: choice(['zstd', 'none'], {
    says: 'Compression of new data. Existing data is detected, so it can be changed at any time.',
    default: 'zstd',
  }),
  level: whole({ says: 'zstd compression level, 1 to 19.', min: 1, max: 19, default: 3 }),
} as const satisfies OptionTable
