/** Durations are parsed alike in topics and pipeline. */
export { parseDuration } from 'tidemark'
