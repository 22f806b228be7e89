import { findConfig } from '@tidemark/pipeline'
import { NotFoundError } from '../errors.ts'
import type { Given } from '../given.ts'

export function requiredConfig(given: Given): string {
  const file = given.text('config') ?? findConfig()
  if (file !== undefined) return file
  throw new NotFoundError(
    "There is no tidemark.config.ts in this folder. Name a configuration with --config, or write one with 'tidemark config init'",
  )
}
