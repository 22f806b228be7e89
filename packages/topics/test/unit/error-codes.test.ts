import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as tidemark from 'tidemark'
import { CodedError, TidemarkError, type TidemarkErrorCode } from 'tidemark'

type Exports = typeof tidemark
type ErrorOf<Name extends keyof Exports> = Exports[Name] extends { prototype: infer E extends TidemarkError }
  ? // The prototype of a function is any.
    0 extends 1 & E
    ? never
    : E
  : never
type ErrorName = { [Name in keyof Exports]: [ErrorOf<Name>] extends [never] ? never : Name }[keyof Exports]

/** The compiler refuses a class that is missing, a code that is not its class's, and one that is not in the union. */
const CODES = {
  BackfillError: 'TIDEMARK_BACKFILL',
  BatchTooLargeError: 'TIDEMARK_BATCH_TOO_LARGE',
  ClaimNotFoundError: 'TIDEMARK_CLAIM_NOT_FOUND',
  ClaimReleasedError: 'TIDEMARK_CLAIM_RELEASED',
  ClockError: 'TIDEMARK_CLOCK',
  ClosedError: 'TIDEMARK_CLOSED',
  ConfigError: 'TIDEMARK_CONFIG',
  DatabaseError: 'TIDEMARK_DATABASE',
  DatabaseFullError: 'TIDEMARK_DATABASE_FULL',
  DatabaseInUseError: 'TIDEMARK_DATABASE_IN_USE',
  DatabaseLockedError: 'TIDEMARK_DATABASE_LOCKED',
  DatabaseMovedError: 'TIDEMARK_DATABASE_MOVED',
  DatabaseReadOnlyError: 'TIDEMARK_DATABASE_READ_ONLY',
  DatabaseRestoredError: 'TIDEMARK_DATABASE_RESTORED',
  DatabaseRewoundError: 'TIDEMARK_DATABASE_REWOUND',
  DatabaseTimeoutError: 'TIDEMARK_DATABASE_TIMEOUT',
  DatabaseUnreachableError: 'TIDEMARK_DATABASE_UNREACHABLE',
  DatabaseVersionError: 'TIDEMARK_DATABASE_VERSION',
  DecodeError: 'TIDEMARK_DECODE',
  DuplicateConsumerError: 'TIDEMARK_DUPLICATE_CONSUMER',
  GroupNotFoundError: 'TIDEMARK_GROUP_NOT_FOUND',
  HeartbeatError: 'TIDEMARK_HEARTBEAT',
  InvalidNameError: 'TIDEMARK_INVALID_NAME',
  InvalidReceiptError: 'TIDEMARK_INVALID_RECEIPT',
  InvalidTransitionError: 'TIDEMARK_INVALID_TRANSITION',
  JobBusyError: 'TIDEMARK_JOB_BUSY',
  LeaseExpiredError: 'TIDEMARK_LEASE_EXPIRED',
  MembershipError: 'TIDEMARK_MEMBERSHIP',
  MessageIdPendingError: 'TIDEMARK_MESSAGE_ID_PENDING',
  MessageNotFoundError: 'TIDEMARK_MESSAGE_NOT_FOUND',
  NamespaceGoneError: 'TIDEMARK_NAMESPACE_GONE',
  NoSubscriptionsError: 'TIDEMARK_NO_SUBSCRIPTIONS',
  OutcomeUnknownError: 'TIDEMARK_OUTCOME_UNKNOWN',
  PackageRequiredError: 'TIDEMARK_PACKAGE_REQUIRED',
  PayloadError: 'TIDEMARK_PAYLOAD',
  PayloadTooLargeError: 'TIDEMARK_PAYLOAD_TOO_LARGE',
  PositionGoneError: 'TIDEMARK_POSITION_GONE',
  SchemaError: 'TIDEMARK_SCHEMA',
  StaleDeliveryError: 'TIDEMARK_STALE_DELIVERY',
  StoppedError: 'TIDEMARK_STOPPED',
  SubscriptionGoneError: 'TIDEMARK_SUBSCRIPTION_GONE',
  SyncError: 'TIDEMARK_SYNC',
  TooManyGroupsError: 'TIDEMARK_TOO_MANY_GROUPS',
  TopicConflictError: 'TIDEMARK_TOPIC_CONFLICT',
  TopicNotFoundError: 'TIDEMARK_TOPIC_NOT_FOUND',
  TransactionError: 'TIDEMARK_TRANSACTION',
  UnknownTypeError: 'TIDEMARK_UNKNOWN_TYPE',
} as const satisfies { [Name in Exclude<ErrorName, 'TidemarkError'>]: ErrorOf<Name>['code'] }

describe('the code of an error', () => {
  it('is the literal that its class declares', () => {
    for (const [name, code] of Object.entries(CODES)) assert.equal(made(name as keyof typeof CODES).code, code, name)
  })

  it('belongs to one class only', () => {
    const codes = Object.values(CODES)
    assert.equal(new Set(codes).size, codes.length)
  })

  it('is in the union, and the union has no other', () => {
    const unused: Exclude<TidemarkErrorCode, (typeof CODES)[keyof typeof CODES]>[] = []
    const none: never[] = unused
    assert.deepEqual(none, [])
  })

  it('is checked for completeness in a switch', () => {
    const isClosed = (code: 'TIDEMARK_CLOSED' | 'TIDEMARK_STOPPED'): boolean => {
      switch (code) {
        case 'TIDEMARK_CLOSED':
          return true
        case 'TIDEMARK_STOPPED':
          return false
      }
    }
    const error: unknown = new tidemark.ClosedError('The reader')
    assert.ok(error instanceof TidemarkError && error instanceof CodedError)
    const { code } = error
    // @ts-expect-error: not a code of Tidemark
    assert.equal(code === 'TIDEMARK_NO_SUCH', false)
    assert.ok(error instanceof tidemark.ClosedError && isClosed(error.code))
  })
})

/** Every public constructor finds the texts and lists that it requires in an empty list. */
function made(name: keyof typeof CODES): CodedError {
  if (name === 'OutcomeUnknownError') return tidemark.OutcomeUnknownError.afterMove('here')
  if (name === 'PackageRequiredError') return tidemark.PackageRequiredError.tooOld('It', 'pg', '^8.0.0')
  if (name === 'PositionGoneError') return new tidemark.PositionGoneError('orders', 'The position', null)
  const Class: new (...args: unknown[]) => CodedError = Object.entries(tidemark).find(
    ([each]) => each === name,
  )?.[1] as never
  return new Class(...Array.from({ length: Class.length }, () => []))
}
