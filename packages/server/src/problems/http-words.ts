/**
 * Errors are written for whoever calls the library. A client of this server has no library: calls and options are left out, and
 * what it can do over HTTP is said in their place. Where files are on the server's disk is nobody's business but its log's.
 */
import { API } from '../api.ts'

type Fields = { readonly [name: string]: unknown }

const topicPath = ({ topic }: Fields): string => `${API}/topics/${encodeURIComponent(String(topic ?? '<topic>'))}`

/** What to do, by code, where the library's advice is a call. */
const ADVICE: { readonly [code: string]: (error: Fields) => string } = {
  TIDEMARK_TOPIC_NOT_FOUND: error => `PUT ${topicPath(error)} creates it`,
  TIDEMARK_PAYLOAD_TOO_LARGE: error =>
    `Store large data elsewhere and publish a reference, or raise maxMessageBytes: PUT ${topicPath(error)}`,
  TIDEMARK_UNKNOWN_TYPE: () => 'Send it as JSON, or as bytes without a type',
  TIDEMARK_STALE_DELIVERY: () =>
    'Undo or deduplicate your work; extend the receipt in time, or give the topic a longer lease',
  TIDEMARK_INVALID_RECEIPT: () => 'Send it exactly as it was given',
  TIDEMARK_TOO_MANY_GROUPS: error =>
    `Remove a group, or POST ${topicPath(error)}/tracking with offset, which supports any number`,
  TIDEMARK_INDEX_NOT_FOUND: () => `GET ${API}/runs lists the runs that have one`,
  TIDEMARK_STRATEGY_MISSING: () => 'The operator has to start this server with that strategy',
}

/** Where the library's words would be of no use at all. */
const INSTEAD: { readonly [code: string]: (error: Fields) => string } = {
  TIDEMARK_INDEX_NOT_FOUND: ({ runId }) => `There is no index of run ${runId}`,
  TIDEMARK_CLOSED: () => 'The server is closing',
}

/** An identifier in camel case, or one of our verbs, that is called; an option in code; the library's handle. */
const CODE =
  /\b(?:[a-z]+(?:[A-Z]\w*)+\(|(?:open|close|pull|poll|ack|nack|extend|repair|quarantine|start|stop|retry)\([^)]*\)|tm\.\w)|\b(?:create|autoCreate): true|\{ ?tx ?\}/

/** Preceded by neither a word nor another slash: no part of a URL, a media type or a key. */
const ABSOLUTE_PATH = /(?:\bfile:\/\/\/|(?<![\w.~%/*\]-])(?:\/(?!\/)|[A-Za-z]:\\))[^\s'"`,;:()<>|]+/g
const OURS = /^\/(?:api\/|health\b|metrics\b)/

/** What a client may be told of an error. */
export function httpWords(error: Fields): string {
  const code = String(error.code ?? '')
  const said = own(INSTEAD, code)?.(error) ?? withoutCode(String(error.message ?? ''))
  const advice = own(ADVICE, code)?.(error)
  return withoutPaths(advice === undefined ? said : `${said}. ${advice}`)
}

/** The file's name stays: it tells which one it is. */
export function withoutPaths(text: string): string {
  return text.replaceAll(ABSOLUTE_PATH, path =>
    OURS.test(path) ? path : `…/${path.split(/[/\\]/).findLast(Boolean) ?? ''}`,
  )
}

const OF_ERRORS = new Set(['error', 'lastError', 'history'])

/** A record of the topics as a client may see it: what it says of errors, without paths. Whatever else is in it stays. */
export function withPlainErrors<T>(record: T, isError = false): T {
  if (typeof record === 'string') return (isError ? withoutPaths(record) : record) as T
  if (Array.isArray(record)) return record.map(each => withPlainErrors(each, isError)) as T
  if (typeof record !== 'object' || record === null || record instanceof Date) return record
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      const isPayload = !isError && (name === 'payload' || name === 'headers')
      return [name, isPayload ? value : withPlainErrors(value, isError || OF_ERRORS.has(name))]
    }),
  ) as T
}

/** Sentences and clauses that show code go; the others stay as they are. */
function withoutCode(message: string): string {
  if (!CODE.test(message)) return message
  const sentences = message.split(/(?<=[^.])\. /).map(sentence => {
    return sentence
      .split('; ')
      .filter(clause => !CODE.test(clause))
      .join('; ')
  })
  return sentences.filter(sentence => sentence !== '').join('. ')
}

/** Only what the table itself has: every object also has a 'constructor'. */
const own = <T>(table: { readonly [code: string]: T }, code: string): T | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined
