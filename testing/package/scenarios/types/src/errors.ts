/** Codes are literals: a switch that forgets one does not compile. */
import { type ConfigError, DatabaseError, SchemaError, TidemarkError, type TidemarkErrorCode } from 'tidemark'
import { expectType } from './expect-type.ts'

export function codes(error: unknown): string {
  if (error instanceof SchemaError) {
    expectType<'TIDEMARK_SCHEMA'>()(error.code)
    return error.issues.map(({ path }) => path).join()
  }
  if (error instanceof DatabaseError) {
    switch (error.code) {
      case 'TIDEMARK_DATABASE_LOCKED':
        return 'retry'
      // @ts-expect-error: no such code
      case 'TIDEMARK_DATABASE_LOKED':
        return 'never'
      default:
        return error.code
    }
  }
  if (error instanceof TidemarkError) {
    expectType<TidemarkErrorCode>()(error.code)
    return error.code === 'TIDEMARK_CLOSED' ? 'closed' : 'open'
  }
  return 'foreign'
}

export function forgotten(code: ConfigError['code'] | SchemaError['code']): number {
  switch (code) {
    case 'TIDEMARK_CONFIG':
      return 1
    default: {
      // @ts-expect-error: the code of SchemaError was forgotten
      const none: never = code
      return none
    }
  }
}
