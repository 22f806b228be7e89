/** Every error Tidemark throws. */
export {
  ClosedError,
  ConfigError,
  DecodeError,
  InvalidNameError,
  JobBusyError,
  MessageNotFoundError,
  PayloadError,
  PayloadTooLargeError,
  SchemaError,
  TopicConflictError,
  TopicNotFoundError,
  UnknownTypeError,
} from './errors/calls.ts'
export {
  DatabaseError,
  DatabaseFullError,
  DatabaseInUseError,
  DatabaseLockedError,
  DatabaseReadOnlyError,
  DatabaseRestoredError,
  DatabaseUnreachableError,
  DatabaseVersionError,
  TransactionError,
} from './errors/databases.ts'
export {
  BackfillError,
  DuplicateConsumerError,
  GroupNotFoundError,
  groupName,
  HeartbeatError,
  InvalidReceiptError,
  InvalidTransitionError,
  LeaseExpiredError,
  MembershipError,
  NoSubscriptionsError,
  PositionGoneError,
  StaleDeliveryError,
  SubscriptionGoneError,
  TooManyGroupsError,
} from './errors/groups.ts'
export { TidemarkError } from './errors/tidemark-error.ts'
